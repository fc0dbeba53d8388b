#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/machine.hpp"
#include "harness/reference_device.hpp"
#include "harness/runner.hpp"
#include "harness/schedules.hpp"
#include "harness/standalone/standalone.hpp"

namespace attest {
namespace {

void print_problem(const Case& c, const Kernel& kernel, const Device& device) {
  const Problem& p = c.problem;
  fmt::print("case        {}\n", to_token(c));
  fmt::print("kernel      {}: {}\n", kernel.name(), kernel.summary());
  fmt::print(
      "problem     {} sequences, {} query tokens, {} heads, {} KV tokens, page size {}, sm_scale "
      "{}\n",
      p.b(), p.total_q(), p.h_q, p.total_kv(), p.page_size, p.sm_scale);
  const int splits = kernel.num_splits(p);
  int live = 0;
  for (const int s_kv : p.s_kv) {
    live = std::max(
        live, static_cast<int>(live_splits(kernel.contract(p).split_rule, s_kv, splits).size()));
  }
  fmt::print("splits      {}, of which at most {} are live\n", splits, live);
  fmt::print("data        {}, seed {}\n", c.distribution, c.seed.value);
  fmt::print("schedule    {}\n", device.is_emulated()
                                     ? to_string(c.schedule) + ": " + in_words(c.schedule)
                                     : "the device's own: the token's has no effect");
}

void print_worst(const Worst& w) {
  fmt::print("{:<12}ratio {:.3g}{}{} at {}", w.tensor, w.ratio, w.tier.empty() ? "" : " of ",
             w.tier, place_text(w));
  fmt::print(
      "\n            actual {:.9g} (0x{:x}), expected {:.9g} (0x{:x}), error {:.3g}, bound "
      "{:.3g}\n",
      w.actual, w.actual_bits, w.expected, w.expected_bits, w.error, w.bound);
  if (!w.terms.empty())
    fmt::print("            {} there:\n", w.tier.empty() ? to_string(Tier::kT0) : w.tier);
  for (const BoundTerm& term : w.terms)
    fmt::print("            {:>10.3g}  {}\n", term.value, term.name);
}

std::string share_text(double share, const char* what) {
  return share < 0 ? fmt::format("no {} to lose", what)
                   : fmt::format("{:.3g} % of {}", 100 * share, what);
}

void print_evidence(const Verdict& verdict) {
  const Evidence& e = verdict.evidence;
  if (e.n_eff_max > 0) {
    fmt::print("logits      {:.4g} .. {:.4g}; n_eff {:.4g} .. {:.4g}\n", e.logit_min, e.logit_max,
               e.n_eff_min, e.n_eff_max);
    fmt::print("P           flushed {:.3g} of a row's weight, gain bias {:.3g}; condition {:.4g}\n",
               e.flush_mass, e.gain_bias, e.condition_max);
    fmt::print("mismatch    {:.3g} % of o has other bits than the emulated reference\n",
               100 * e.mismatch);
  }
  for (const Score& score : e.scores)
    fmt::print("score       {}: z = {:.3g}\n", score.filter, score.z);
  if (e.strawmen.empty()) return;  // not looked for
  fmt::print("visible     {}, {}, {}; the least weight seen {:.3g}\n",
             share_text(e.tokens_visible, "tokens"), share_text(e.pages_visible, "pages"),
             share_text(e.splits_visible, "splits"), e.smallest_weight_seen);
  fmt::print("strawmen    {}\n", fmt::join(e.strawmen, ", "));
  fmt::print(
      "reference   {} rows recomputed in double-double: off by {:.2g} of what the gates allow\n",
      e.rows_certified, e.reference_off);
}

void print_verdict(const Verdict& verdict) {
  for (const Worst& worst : verdict.worst) print_worst(worst);
  print_evidence(verdict);
  fmt::print("judged      {} elements, {} wrong\n", verdict.checked, verdict.wrong);
  fmt::print("verdict     {}\n", to_string(verdict.status));
  if (!verdict.reason.empty()) fmt::print("            {}\n", verdict.reason);
  if (!verdict.broken_tier.empty()) fmt::print("broken      {}\n", verdict.broken_tier);
  if (!verdict.blame.empty()) fmt::print("blame       {}\n", verdict.blame);
  if (!verdict.bucket.empty()) fmt::print("bucket      {}\n", verdict.bucket);
  for (const std::string& remark : verdict.remarks) fmt::print("remark      {}\n", remark);
}

// Prints how long each stage took, when the next one begins.
class StageClock {
 public:
  void at(std::string_view stage) {
    const auto now = std::chrono::steady_clock::now();
    if (!stage_.empty()) {
      fmt::print("{:<11} {:.1f} ms\n", stage_,
                 std::chrono::duration<double, std::milli>(now - begin_).count());
    }
    std::fflush(stdout);
    stage_ = stage;
    begin_ = now;
  }

 private:
  std::string stage_;
  std::chrono::steady_clock::time_point begin_;
};

// The case under the first of several schedules that shows a failure, else as it is.
Case shown_case(const CommonOptions& common, const Kernel& kernel, Device& device, const Case& c,
                VerifyOptions options) {
  if (common.schedules == 0) return c;
  options.schedules = common.schedules;
  Explored explored = explore_schedules(kernel, device, c, options, [&](const Case& of_schedule) {
    return verify(kernel, device, of_schedule, options);
  });
  fmt::print("schedules   {} were run: {}\n", explored.verdict.schedules,
             is_finding(explored.verdict.status) ? "below, the first that shows a failure"
                                                 : "none shows a failure");
  return std::move(explored.c);
}

// Writes the program of a failure; the exit code: `code`, or that of trouble where nothing failed.
int report_standalone(const Failure& failure, const StandaloneOptions& options, int code) {
  const Status status = failure.verdict.status;
  if (status != Status::kFailed && !failure.stops()) {
    fmt::print("standalone  nothing to reproduce, nothing written: the case is {}\n",
               to_string(status));
    return code;
  }
  const auto end = write_standalone(failure, options);
  if (!end.ok()) return worse_of(code, report_trouble(end.trouble()));
  fmt::print("program     {}\n            {}\ncompile     {}\nrun         {}\n", options.file,
             end->label, end->compile, end->run);
  return end->was_run ? code : worse_of(code, 4);
}

}  // namespace

int command_repro(const CommonOptions& common, const std::string& token,
                  const std::string& standalone) {
  if (common.json) return command_run(common, {.tokens = {token}, .suites = {}, .match = {}});
  const Result<Case> known = known_case(token);
  if (!known.ok()) return report_trouble(known.trouble());
  if (!standalone.empty()) {
    if (common.checks.any() || common.ariths != CommonOptions{}.ariths) {
      return report_trouble({TroubleKind::kUsage,
                             "--standalone writes a program that runs without attest, where "
                             "nothing watches (--check) "
                             "and the arithmetic is the device's (--arith): leave them out"});
    }
    const Outcome path = check_standalone_path(standalone);
    if (!path.ok()) return report_trouble(path.trouble());
  }
  auto device = open_device(
      common.device,
      {.threads = common.threads, .checks = common.checks, .guard_page = common.guard_page});
  if (!device.ok()) return report_trouble(device.trouble());
  stop_on_interrupt();
  const Kernel& kernel = *find_kernel(known->kernel);
  VerifyOptions options{common.code_objects, common.threads, {}, true, common.ariths};
  options.reference_device = reference_device(common);
  const Case c = shown_case(common, kernel, **device, *known, options);
  print_problem(c, kernel, **device);
  fmt::print("device      {}; {}\n", common.device, machine_text());

  StageClock clock;
  options.at_stage = [&](std::string_view stage) { clock.at(stage); };
  const bool wants_program = !standalone.empty();
  const Failure failure = wants_program ? record_failure(kernel, **device, c, options) : Failure{};
  const Verdict verdict = wants_program ? failure.verdict : verify(kernel, **device, c, options);
  clock.at("");
  print_verdict(verdict);
  Tally tally;
  tally.add(verdict.status);
  if (!wants_program) return exit_code(tally);
  const std::string object = kernel.code_object((*device)->target());
  return report_standalone(failure, {standalone, common.code_objects + "/" + object, object},
                           exit_code(tally));
}

}  // namespace attest
