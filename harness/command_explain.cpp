// explain: what a case could show, without running a kernel.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "fuzz/distributions/distribution.hpp"
#include "harness/case_runner.hpp"
#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/explanation.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"

namespace attest {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<std::string_view, MatrixUnit> kUnits[] = {
    {"fma", MatrixUnit::kSequentialFma}, {"cdna1", MatrixUnit::kCdna1Bf16},
    {"cdna2", MatrixUnit::kCdna2Bf16},   {"cdna3", MatrixUnit::kCdna3Bf16},
    {"hopper", MatrixUnit::kHopperBf16}, {"unknown", MatrixUnit::kUnknown},
};

// Which build of a kernel, and what sums its products.
struct Build {
  std::string target;
  MatrixUnit unit;
};

// By the unit's name, else the device's.
Result<Build> build_of(const CommonOptions& common, const std::string& name) {
  if (!name.empty()) {
    const auto unit = matrix_unit_named(name);
    if (!unit.ok()) return unit.trouble();
    const std::string target = name == "hopper"           ? "sm_90"
                               : name.starts_with("cdna") ? "gfx942"
                                                          : target_of_device(common.device);
    return Build{target, *unit};
  }
  auto device = open_device(common.device, {.threads = 1});
  if (!device.ok()) return device.trouble();
  return Build{(*device)->target(), (*device)->matrix_unit()};
}

std::string_view name_of(MatrixUnit unit) {
  for (const auto& [name, value] : kUnits) {
    if (value == unit) return name;
  }
  if (unit == MatrixUnit::kCdna3Fp8) return "cdna3, fp8";
  return "unknown";
}

// What one command explains.
struct Explained {
  Case c;
  Contract contract;
  int num_splits = 1;
  std::vector<std::string_view> blind_to;
  Explanation found;
  bool has_facts = false, has_slopes = false;
};

std::string share_text(const Visible& v, const char* what) {
  if (v.looked_at == 0) return fmt::format("no {} to lose", what);
  return fmt::format("{} of {} {}", v.visible, v.looked_at, what);
}

std::string place_text(const Place& at) {
  return fmt::format("sequence {}, query token {}, head {}", at.sequence, at.query_token, at.head);
}

// Why a strawman is, or is not, rejected.
std::string_view fate_of(const Explained& x, const StrawmanResult& result) {
  if (result.rejected) return "rejected";
  if (!result.differs) {
    return result.name == "scale 2 % off" && !x.has_slopes ? "not formed: no slope of it is known"
                                                           : "changes nothing";
  }
  const bool declared =
      std::find(x.blind_to.begin(), x.blind_to.end(), result.name) != x.blind_to.end();
  return declared ? "PASSES, as the distribution declares" : "PASSES: the case is vacuous";
}

void print_head(const Explained& x) {
  const Problem& p = x.c.problem;
  const Arithmetic& a = x.contract.arithmetic;
  fmt::print("case        {}\n", to_token(x.c));
  fmt::print(
      "problem     {} sequences, {} query tokens, {} heads, {} KV tokens, page size {}, sm_scale "
      "{}, {} splits\n",
      p.b(), p.total_q(), p.h_q, p.total_kv(), p.page_size, p.sm_scale, x.num_splits);
  if (p.q_type == Storage::kFp8 || p.kv_type == Storage::kFp8) {
    const auto text = [](Storage storage, float descale) {
      return storage == Storage::kFp8 ? fmt::format("fp8 e4m3fnuz times {}", descale) : "bf16";
    };
    fmt::print("stored      q {}, cache {}\n", text(p.q_type, p.q_scale),
               text(p.kv_type, p.kv_scale));
  }
  fmt::print("data        {}, seed {}: {}\n", x.c.distribution, x.c.seed.value,
             find_distribution(x.c.distribution)->purpose());
  fmt::print("arithmetic  matrix unit {}, P to {} bits, tiles of {} tokens, schedule {}\n",
             name_of(a.matrix_unit), a.p_bits, a.tile_tokens,
             a.schedule_declared ? "declared" : "not declared");
}

void print_facts(const Explained& x) {
  const Evidence& e = x.found.facts;
  fmt::print("o           rms {:.3g}\n", x.found.rms_o);
  if (!x.has_facts) return;
  fmt::print("logits      {:.4g} .. {:.4g}\n", e.logit_min, e.logit_max);
  fmt::print("n_eff       {:.4g} .. {:.4g} tokens carry a row\n", e.n_eff_min, e.n_eff_max);
  fmt::print("P           at most {:.3g} of a row's weight is flushed, gain bias {:.3g}\n",
             e.flush_mass, e.gain_bias);
  fmt::print("condition   sum a|v| / |o| at most {:.4g}\n", e.condition_max);
}

void print_tiers(const Explanation& found) {
  fmt::print(
      "\ntier  tensor       median     largest   (radius; of o and partial_o over rms of o)\n");
  for (const TierSize& size : found.tiers) {
    fmt::print("{:<5} {:<12} {:<10.3g} {:<10.3g}\n", to_string(size.tier), size.tensor, size.median,
               size.largest);
  }
}

void print_terms(Tier tier, const char* what, const std::vector<BoundTerm>& terms) {
  fmt::print("            {} of {}:\n", to_string(tier), what);
  for (const BoundTerm& term : terms)
    fmt::print("            {:>10.3g}  {}\n", term.value, term.name);
}

void print_loosest(const Explained& x) {
  fmt::print("\nloosest rows, by the tightest tier\n");
  for (const LooseRow& row : x.found.loosest) {
    fmt::print("            {}: {:.3g} of rms {:.3g} at column {}", place_text(row.place),
               row.ratio(), row.rms, row.place.column);
    if (x.has_facts) fmt::print(", n_eff {:.3g}", row.facts.n_eff);
    fmt::print("\n");
  }
  if (x.found.loosest.empty()) {
    fmt::print("            none: no row sees a token\n");
    return;
  }
  print_terms(x.found.tightest, "o there", x.found.o_terms);
  print_terms(x.found.tightest, "its lse", x.found.lse_terms);
}

void print_evidence(const Explained& x) {
  const Visibility& v = x.found.visibility;
  fmt::print("\nvisible     {}, {}, {}", share_text(v.tokens, "tokens"),
             share_text(v.pages, "pages"), share_text(v.splits, "splits"));
  if (v.tokens.visible > 0) fmt::print("; the least weight seen {:.3g}", v.smallest_weight_seen);
  fmt::print("\nstrawmen\n");
  for (const StrawmanResult& result : x.found.strawmen)
    fmt::print("            {:<20} {}\n", result.name, fate_of(x, result));
}

Json finite(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

Json to_json(const Visible& v) { return {{"visible", v.visible}, {"looked_at", v.looked_at}}; }

Json to_json(const std::vector<BoundTerm>& terms) {
  Json json = Json::array();
  for (const BoundTerm& term : terms)
    json.push_back({{"name", term.name}, {"value", finite(term.value)}});
  return json;
}

Json facts_json(const Explained& x) {
  const Evidence& e = x.found.facts;
  Json json = {{"rms_o", finite(x.found.rms_o)}};
  if (!x.has_facts) return json;
  json.update({{"logit_min", finite(e.logit_min)},
               {"logit_max", finite(e.logit_max)},
               {"n_eff_min", finite(e.n_eff_min)},
               {"n_eff_max", finite(e.n_eff_max)},
               {"flush_mass", finite(e.flush_mass)},
               {"gain_bias", finite(e.gain_bias)},
               {"condition_max", finite(e.condition_max)}});
  return json;
}

Json to_json(const Explained& x) {
  const Explanation& found = x.found;
  Json tiers = Json::array(), rows = Json::array(), strawmen = Json::array();
  for (const TierSize& size : found.tiers) {
    tiers.push_back({{"tier", to_string(size.tier)},
                     {"tensor", size.tensor},
                     {"median", finite(size.median)},
                     {"largest", finite(size.largest)}});
  }
  for (const LooseRow& row : found.loosest) {
    rows.push_back({{"sequence", row.place.sequence},
                    {"query_token", row.place.query_token},
                    {"head", row.place.head},
                    {"column", row.place.column},
                    {"radius", finite(row.radius)},
                    {"rms", finite(row.rms)}});
  }
  for (const StrawmanResult& result : found.strawmen) {
    strawmen.push_back(
        {{"name", result.name}, {"differs", result.differs}, {"rejected", result.rejected}});
  }
  return {{"token", to_token(x.c)},
          {"matrix_unit", name_of(x.contract.arithmetic.matrix_unit)},
          {"facts", facts_json(x)},
          {"tiers", tiers},
          {"loosest_rows", rows},
          {"terms_are_of", to_string(found.tightest)},
          {"terms_of_o", to_json(found.o_terms)},
          {"terms_of_lse", to_json(found.lse_terms)},
          {"tokens", to_json(found.visibility.tokens)},
          {"pages", to_json(found.visibility.pages)},
          {"splits", to_json(found.visibility.splits)},
          {"smallest_weight_seen", finite(found.visibility.smallest_weight_seen)},
          {"strawmen", strawmen}};
}

Result<Explained> explained(const CommonOptions& common, const Case& c, const Build& build) {
  const Kernel& kernel = *find_kernel(c.kernel);
  if (const std::string why = kernel.why_unsupported(c.problem); !why.empty()) {
    return Trouble{TroubleKind::kUsage, fmt::format("{} does not take it: {}", c.kernel, why)};
  }
  Explained x{c,
              kernel.contract_for(c.problem, build.target),
              kernel.num_splits(c.problem),
              find_distribution(c.distribution)->blind_to(),
              {}};
  x.contract.arithmetic.matrix_unit = unit_for(build.unit, c.problem.q_type);
  const auto inputs = generate(c, walk_of(kernel, c.problem), common.threads);
  if (!inputs.ok()) return inputs.trouble();
  const auto wanted =
      reference(c.problem, *inputs, x.contract, x.num_splits, {.threads = common.threads});
  if (!wanted.ok()) return wanted.trouble();
  const Subject subject{kernel.name(), x.c.problem, x.contract, x.num_splits, x.blind_to};
  x.found = explain_case(subject, *inputs, *wanted);
  x.has_facts = !wanted->rows.empty();
  x.has_slopes = !wanted->temperature_o.empty();
  return x;
}

}  // namespace

Result<MatrixUnit> matrix_unit_named(const std::string& unit) {
  for (const auto& [name, value] : kUnits) {
    if (name == unit) return value;
  }
  return Trouble{TroubleKind::kUsage,
                 fmt::format("there is no matrix unit '{}'; there are: fma, cdna1, cdna2, cdna3, "
                             "hopper, unknown",
                             unit)};
}

int command_explain(const CommonOptions& common, const std::string& token,
                    const std::string& unit) {
  const Result<Case> c = known_case(token);
  if (!c.ok()) return report_trouble(c.trouble());
  const Result<Build> build = build_of(common, unit);
  if (!build.ok()) return report_trouble(build.trouble());
  const Result<Explained> x = explained(common, *c, *build);
  if (!x.ok()) return report_trouble(x.trouble());
  if (common.json) {
    fmt::print("{}\n", to_json(*x).dump(2));
    return 0;
  }
  print_head(*x);
  print_facts(*x);
  print_tiers(x->found);
  print_loosest(*x);
  print_evidence(*x);
  return 0;
}

}  // namespace attest
