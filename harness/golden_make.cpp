#include "harness/golden_make.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "fuzz/distributions/distribution.hpp"
#include "golden/digest.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/parallel.hpp"
#include "harness/exchange.hpp"
#include "harness/generate.hpp"
#include "harness/input_tensors.hpp"
#include "reference/row_view.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

std::string why_no_golden(const Case& c) {
  if (!c.steps.empty()) return "steps= is many launches; a golden case is one";
  if (c.property != kOracle) return "prop= is a relation between launches; a golden case is one";
  if (find_kernel(c.kernel) == nullptr)
    return fmt::format("there is no kernel '{}' here", c.kernel);
  return {};
}

// To 24 bits (Veltkamp's splitting: Dekker 1971): the rest is noise that does not pack.
double shortened(double x) {
  const double scaled = x * (0x1p29 + 1);
  return std::isfinite(scaled) ? scaled - (scaled - x) : x;
}

struct Score {
  double x = 0, spread = 0;  // golden_file.hpp
};
// `k`: the codes of token j.
Score score_of(const RowView& view, double scale, std::span<const float, kDQk> k) {
  double dot = 0, magnitude = 0;
  for (int d = 0; d < kDQk; ++d) {
    const double product = double{view.q_code(d)} * k[d];
    dot += product;
    magnitude += std::fabs(product);
  }
  return {scale * dot, std::fabs(scale) * magnitude};
}

void put_row(const StreamedRow& exact, const RowMagnitudes& m, std::int64_t row, GoldenCase& c) {
  c.lse_hi[row] = exact.lse.high;
  c.lse_lo[row] = exact.lse.low;
  for (int d = 0; d < kDV; ++d) {
    const std::int64_t at = row * kDV + d;
    c.o_hi[at] = exact.o[d].high;
    c.o_lo[at] = exact.o[d].low;
    c.sum_a_abs_v[at] = shortened(m.sum_a_abs_v[d]);
    c.sum_a_dev[at] = shortened(m.sum_a_dev[d]);
    c.sum_aa_vv[at] = shortened(m.sum_aa_vv[d]);
    c.sum_a_spread_dev[at] = shortened(m.sum_a_spread_dev[d]);
  }
  for (int i = 0; i < kFactsOfRowCount; ++i)
    c.of_row[row * kFactsOfRowCount + i] = shortened(m.of_row[i]);
}

}  // namespace

Result<GoldenInputs> generated_inputs(const Case& c, int threads) {
  std::string why = why_no_golden(c);
  if (why.empty() && find_distribution(c.distribution) == nullptr)
    why = fmt::format("there is no distribution '{}' here", c.distribution);
  if (!why.empty()) return usage(fmt::format("{}: {}", to_token(c), why));
  auto inputs = generate(c, walk_of(*find_kernel(c.kernel), c.problem), threads);
  if (!inputs.ok()) return inputs.trouble();
  return GoldenInputs{c, std::move(*inputs), {}};
}

Result<GoldenInputs> captured_inputs(const std::string& path) {
  const auto file = Hdf5File::open(path);
  if (!file.ok()) return file.trouble();
  const auto c = exported_case(**file, path);
  if (!c.ok()) return c.trouble();
  const auto names = (*file)->names("inputs");
  if (!names.ok()) return names.trouble();
  std::map<std::string, StoredTensor> tensors;
  GoldenInputs made{*c, {}, {}};
  for (const std::string& name : *names) {
    auto tensor = (*file)->read("inputs/" + name);
    if (!tensor.ok()) return tensor.trouble();
    tensors[name] = std::move(*tensor);
  }
  auto inputs = inputs_of_tensors(c->problem, tensors);
  if (!inputs.ok())
    return Trouble{inputs.trouble().kind, fmt::format("{}: {}", path, inputs.trouble().text)};
  made.inputs = std::move(*inputs);
  std::map<std::string, std::string> dtypes;
  for (const InputTensor& input : input_tensors(c->problem, made.inputs))
    dtypes[input.name] = input.dtype;
  for (auto& [name, tensor] : tensors) {
    if (dtypes.contains(name)) made.captured.push_back({name, dtypes[name], std::move(tensor)});
  }
  return made;
}

Result<GoldenInputs> inputs_of_golden(const GoldenCase& golden, int threads) {
  const auto c = parse_token(golden.token);
  if (!c.ok()) return c.trouble();
  if (golden.source != "capture") return generated_inputs(*c, threads);
  if (const std::string why = why_no_golden(*c); !why.empty())
    return usage(fmt::format("{}: {}", golden.token, why));
  std::map<std::string, StoredTensor> tensors;
  for (const GoldenCase::Captured& input : golden.captured) tensors[input.name] = input.tensor;
  auto inputs = inputs_of_tensors(c->problem, tensors);
  if (!inputs.ok()) return inputs.trouble();
  return GoldenInputs{*c, std::move(*inputs), golden.captured};
}

InputDigests digests_of(const Problem& problem, const Inputs& inputs) {
  Digest q, kv, tables;
  q.add(inputs.q.bytes());
  const std::size_t page_bytes =
      static_cast<std::size_t>(problem.page_size * kDQk * bytes_of_element(problem.kv_type));
  for (const std::int32_t page : inputs.used_pages)
    kv.add(inputs.kv.bytes().subspan(static_cast<std::size_t>(page) * page_bytes, page_bytes));
  for (const auto* table :
       {&inputs.qo_indptr, &inputs.kv_indptr, &inputs.kv_indices, &inputs.kv_last_page_len}) {
    tables.add(fmt::format("{} ", table->size()));
    tables.add(*table);
  }
  return {q.text(), kv.text(), tables.text()};
}

RowMagnitudes magnitudes_of(const Problem& problem, const Inputs& inputs, std::int64_t row,
                            const StreamedRow& exact) {
  const RowView view(problem, inputs, row);
  RowMagnitudes m;
  m.visible = view.visible();
  if (m.visible == 0) return m;
  const double scale = problem.logit_scale(), unit = view.kv_scale();
  auto& [x_min, x_max, sum_a_x, sum_a_abs_x, sum_a_spread, spread_max, sum_aa] = m.of_row;
  x_min = INFINITY, x_max = -INFINITY;
  std::array<float, kDQk> k{};
  for (int j = 0; j < m.visible; ++j) {
    view.k_codes(j).read(kDQk, k.data());
    const auto [x, spread] = score_of(view, scale, k);
    const double a = exp(DoubleDouble{x, 0} - exact.lse).high;
    x_min = std::min(x_min, x), x_max = std::max(x_max, x);
    spread_max = std::max(spread_max, spread);
    sum_a_x += a * x, sum_a_abs_x += a * std::fabs(x), sum_a_spread += a * spread;
    sum_aa += a * a;
    for (int d = 0; d < kDV; ++d) {
      const double v = k[d] * unit, dev = std::fabs(v - exact.o[d].high);
      m.sum_a_abs_v[d] += a * std::fabs(v);
      m.sum_a_dev[d] += a * dev;
      m.sum_aa_vv[d] += a * a * v * v;
      m.sum_a_spread_dev[d] += a * spread * dev;
    }
  }
  return m;
}

// u = 2^-53, S = spread_max, n = visible, first order. A dot product by Sum2 in 16 lanes of 36
// products: (36 u)^2 of the sum of magnitudes (Ogita, Rump, Oishi 2005, proposition 4.5), 15
// additions and three scalings of pairs below 100 u^2: |error of x| <= 1400 u^2 S. exp: 1e-30 = 82
// u^2. A rescale each block of 16 tokens at most: 90 u^2 (n / 16 + 1). So a weight is off by e =
// u^2 (1400 S + 6 n + 180), relative. A sum of n pairs: 3 u^2 n; of products, which add up their
// low parts in double: 5 u^2 n. o: e in both sums, and the quotient, 20 u^2; lse: e once, log to
// 4e-30 of at most 14, and 6 u^2 |lse|. The larger of both, rounded up.
double streaming_error(int visible, double spread_max) {
  return 0x1p-106 * (2800 * spread_max + 22.0 * visible + 5000);
}

Result<double> stated_error(const Problem& problem, const Inputs& inputs, int threads) {
  std::vector<double> errors(static_cast<std::size_t>(problem.rows()));
  const bool done = parallel_for(threads, errors.size(), [&](int, std::size_t i) {
    const RowView view(problem, inputs, static_cast<std::int64_t>(i));
    std::array<float, kDQk> k{};
    double spread_max = 0;
    for (int j = 0; j < view.visible(); ++j) {
      view.k_codes(j).read(kDQk, k.data());
      spread_max = std::max(spread_max, score_of(view, problem.logit_scale(), k).spread);
    }
    errors[i] = streaming_error(view.visible(), spread_max);
  });
  if (!done) return Trouble{TroubleKind::kInfra, "no memory to recompute a stated error"};
  return *std::max_element(errors.begin(), errors.end());
}

std::array<std::uint8_t, 16> digest_of_row(const StreamedRow& row) {
  std::array<double, kDV> high{}, low{};
  for (int d = 0; d < kDV; ++d) high[d] = row.o[d].high, low[d] = row.o[d].low;
  return row_digest(high, low, row.lse.high);
}

Result<GoldenCase> make_golden(const GoldenInputs& from, bool digests_only, int threads) {
  const Problem& p = from.c.problem;
  const InputDigests digests = digests_of(p, from.inputs);
  GoldenCase c;
  c.token = to_token(from.c);
  c.source = from.captured.empty() ? "generator" : "capture";
  c.generator = from.captured.empty() ? kGeneratorVersion : "captured";
  c.reference = kReferenceVersion;
  c.contract = to_text(find_kernel(from.c.kernel)->contract(p));
  c.digest_q = digests.q, c.digest_kv = digests.kv, c.digest_tables = digests.tables;
  const auto rows = static_cast<std::size_t>(p.rows());
  if (digests_only) {
    c.row_digests.resize(rows * 16);
  } else {
    c.captured = from.captured;
    for (const GoldenField& field : golden_fields())
      (c.*field.values).resize(rows * static_cast<std::size_t>(field.columns));
  }
  std::vector<double> errors(rows);
  const bool done = parallel_for(threads, rows, [&](int, std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    const StreamedRow exact = streaming_oracle(p, from.inputs, row, {0, kMaxContext});
    if (digests_only) {
      const auto digest = digest_of_row(exact);
      std::copy(digest.begin(), digest.end(), &c.row_digests[i * 16]);
      return;
    }
    const RowMagnitudes m = magnitudes_of(p, from.inputs, row, exact);
    errors[i] = streaming_error(m.visible, m.spread_max());
    put_row(exact, m, row, c);
  });
  if (!done) return Trouble{TroubleKind::kInfra, "no memory to compute golden values"};
  c.error = digests_only ? 0 : *std::max_element(errors.begin(), errors.end());
  return c;
}

}  // namespace attest
