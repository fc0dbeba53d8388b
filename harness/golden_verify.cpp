#include "harness/golden_verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "harness/core/contract_changes.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/parallel.hpp"
#include "harness/core/random.hpp"
#include "harness/golden_make.hpp"
#include "reference/oracle.hpp"
#include "reference/row_view.hpp"

namespace attest {
namespace {

constexpr int kDisagreementsOfCase = 3;  // that are told

// What is found of one row.
struct RowCheck {
  bool by_digits = false;
  double largest = 0;  // in units of the stated error
  std::string wrong;   // empty: nothing
};

std::string pair_text(double high, double low) {
  return fmt::format("{:.17g} + {:.17g}", high, low);
}

StreamedRow stored_row(const GoldenCase& golden, std::int64_t row) {
  StreamedRow stored;
  for (std::int64_t at = row * kDV; at < (row + 1) * kDV; ++at)
    stored.o.push_back({golden.o_hi[at], golden.o_lo[at]});
  stored.lse = {golden.lse_hi[row], golden.lse_lo[row]};
  return stored;
}

StreamedRow row_of_digits(const Problem& problem, const Inputs& inputs, std::int64_t row) {
  const OraclePair pair = oracle_pair(problem, inputs, row, {0, kMaxContext});
  StreamedRow exact;
  for (int d = 0; d < kDV; ++d) exact.o.push_back({pair.high.o[d], pair.low.o[d]});
  exact.lse = {pair.high.lse, pair.low.lse};
  return exact;
}

// In units of `allowed`; NaN where one is no number.
double disagreement(DoubleDouble a, DoubleDouble b, double allowed) {
  if (a.high == b.high && a.low == b.low) return 0;
  if (std::isinf(a.high) || std::isinf(b.high)) return a.high == b.high ? 0 : INFINITY;
  return std::fabs((a - b).high) / allowed;
}

class CaseVerifier {
 public:
  CaseVerifier(const GoldenCase& golden, const GoldenVerifyOptions& options, GoldenReport& report)
      : golden_(golden), options_(options), report_(report) {}

  Outcome run() {
    const auto from = inputs_of_golden(golden_, options_.threads);
    if (!from.ok()) return from.trouble();
    const Problem& p = from->c.problem;
    ++report_.cases;
    report_.rows += p.rows();
    compare_contract(to_text(find_kernel(from->c.kernel)->contract(p)));
    // Values of other inputs are other values: nothing more to learn.
    if (!compare_inputs(digests_of(p, from->inputs))) return Done{};
    if (const Outcome o = compare_error(p, from->inputs); !o.ok()) return o;
    return compare_rows(*from);
  }

 private:
  void disagree(std::string text) {
    report_.disagreements.push_back({golden_.token, std::move(text)});
  }

  void compare_contract(const std::string& today) {
    if (today == golden_.contract) return;
    disagree(fmt::format("the contract is another: {}", contract_changes(golden_.contract, today)));
  }

  bool compare_inputs(const InputDigests& today) {
    bool same = true;
    for (const auto& [name, stored, now] : {std::tuple{"q", &golden_.digest_q, &today.q},
                                            {"kv", &golden_.digest_kv, &today.kv},
                                            {"tables", &golden_.digest_tables, &today.tables}}) {
      if (*stored == *now) continue;
      same = false;
      disagree(fmt::format("{} is not what it was: XXH3-128 {} in the file, {} now", name, *stored,
                           *now));
    }
    return same;
  }

  // Values are held to the error that their file states: not to any.
  Outcome compare_error(const Problem& p, const Inputs& inputs) {
    const auto today = golden_.has_values() ? stated_error(p, inputs, options_.threads) : 0.0;
    if (!today.ok()) return today.trouble();
    if (!(golden_.error <= *today * (1 + 0x1p-20)))
      disagree(
          fmt::format("it states an error of {:.3g}: more than the {:.3g} that generate states",
                      golden_.error, *today));
    return Done{};
  }

  // Distinct, in order.
  std::vector<std::int64_t> sample(std::int64_t rows) const {
    std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
    std::iota(all.begin(), all.end(), 0);
    if (options_.all) return all;
    const auto wanted = static_cast<std::size_t>((rows + 99) / 100);
    std::uint64_t key = options_.seed;
    for (const char c : golden_.token) key = mix64(key ^ static_cast<unsigned char>(c));
    for (std::size_t i = 0; i < wanted; ++i)  // the first steps of a shuffle
      std::swap(all[i], all[i + Stream{key}.bits(i) % (all.size() - i)]);
    all.resize(wanted);
    std::sort(all.begin(), all.end());
    return all;
  }

  Outcome compare_rows(const GoldenInputs& from) {
    const std::vector<std::int64_t> rows = sample(from.c.problem.rows());
    std::vector<RowCheck> checks(rows.size());
    const bool done = parallel_for(options_.threads, rows.size(), [&](int, std::size_t i) {
      checks[i] = check_row(from.c.problem, from.inputs, rows[i]);
    });
    if (!done) return Trouble{TroubleKind::kInfra, "no memory to recompute golden values"};
    int told = 0, wrong = 0;
    for (const RowCheck& check : checks) {
      (check.by_digits ? report_.by_digits : report_.by_stream) += 1;
      if (!(check.largest <= report_.largest)) report_.largest = check.largest;
      if (check.wrong.empty()) continue;
      ++wrong;
      if (told++ < kDisagreementsOfCase) disagree(check.wrong);
    }
    if (wrong > kDisagreementsOfCase)
      disagree(fmt::format("and in {} more of the {} rows that were recomputed",
                           wrong - kDisagreementsOfCase, checks.size()));
    return Done{};
  }

  RowCheck check_row(const Problem& p, const Inputs& inputs, std::int64_t row) const {
    RowCheck check;
    check.by_digits = RowView(p, inputs, row).visible() <= options_.most_tokens_of_digits;
    StreamedRow kept;
    double error = golden_.error;
    if (golden_.has_values()) {
      kept = stored_row(golden_, row);
    } else {
      kept = streaming_oracle(p, inputs, row, {0, kMaxContext});
      const auto digest = digest_of_row(kept);
      if (!std::equal(digest.begin(), digest.end(), &golden_.row_digests[row * 16]))
        check.wrong = fmt::format("row {}: its values have another digest than in the file", row);
      if (!check.by_digits || !check.wrong.empty()) return check;
    }
    const StreamedRow exact = check.by_digits ? row_of_digits(p, inputs, row)
                                              : streaming_oracle(p, inputs, row, {0, kMaxContext});
    const RowMagnitudes m = magnitudes_of(p, inputs, row, exact);
    if (!golden_.has_values()) error = streaming_error(m.visible, m.spread_max());
    compare(kept, exact, m, error, row, check);
    if (golden_.has_values() && check.wrong.empty()) check.wrong = wrong_magnitude(m, row);
    return check;
  }

  // Empty: none. They are kept to 24 bits. Where v - o and scores cancel, the last bits of o and of
  // lse, which two oracles may round apart, show in more of theirs: far less than `slack`, of what
  // is summed.
  std::string wrong_magnitude(const RowMagnitudes& m, std::int64_t row) const {
    constexpr double kKept = 0x1p-22, kSlack = 0x1p-40;
    const double of_spread = std::max(1.0, m.spread_max());
    for (const auto& [name, kept, today, slack] :
         {std::tuple{"sum_a_abs_v", &golden_.sum_a_abs_v, &m.sum_a_abs_v, kSlack},
          {"sum_a_dev", &golden_.sum_a_dev, &m.sum_a_dev, kSlack},
          {"sum_aa_vv", &golden_.sum_aa_vv, &m.sum_aa_vv, 0.0},
          {"sum_a_spread_dev", &golden_.sum_a_spread_dev, &m.sum_a_spread_dev,
           kSlack * of_spread}}) {
      for (int d = 0; d < kDV; ++d) {
        const double was = (*kept)[row * kDV + d], is = (*today)[d];
        if (std::fabs(was - is) <= kKept * std::fabs(is) + slack * m.sum_a_abs_v[d]) continue;
        return fmt::format("row {}, {} column {}: {:.9g} in the file, {:.9g} recomputed", row, name,
                           d, was, is);
      }
    }
    for (int i = 0; i < kFactsOfRowCount; ++i) {
      const double was = golden_.of_row[row * kFactsOfRowCount + i], is = m.of_row[i];
      // The last, sum a^2, has no terms that cancel.
      const double slack = i + 1 == kFactsOfRowCount ? 0 : kSlack * of_spread;
      if (std::fabs(was - is) <= kKept * std::fabs(is) + slack) continue;
      return fmt::format("row {}, of_row column {}: {:.9g} in the file, {:.9g} recomputed", row, i,
                         was, is);
    }
    return {};
  }

  static void compare(const StreamedRow& kept, const StreamedRow& exact, const RowMagnitudes& m,
                      double error, std::int64_t row, RowCheck& check) {
    const auto take = [&](double ratio, const std::string& where, DoubleDouble a, DoubleDouble b) {
      if (ratio <= check.largest) return;
      check.largest = ratio;
      if (ratio <= 1) return;
      check.wrong = fmt::format(
          "row {}, {}: {} in the file, {} recomputed: {:.3g} times its stated "
          "error of {:.2g}",
          row, where, pair_text(a.high, a.low), pair_text(b.high, b.low), ratio, error);
    };
    const double of_lse = error * std::max(1.0, std::fabs(exact.lse.high));
    take(disagreement(kept.lse, exact.lse, of_lse), "lse", kept.lse, exact.lse);
    for (int d = 0; d < kDV; ++d) {
      const double ratio = disagreement(kept.o[d], exact.o[d], error * m.sum_a_abs_v[d]);
      if (ratio > check.largest || std::isnan(ratio))
        take(ratio, fmt::format("o column {}", d), kept.o[d], exact.o[d]);
    }
  }

  const GoldenCase& golden_;
  const GoldenVerifyOptions& options_;
  GoldenReport& report_;
};

}  // namespace

Result<GoldenReport> verify_golden(const GoldenFile& file, const GoldenVerifyOptions& options) {
  GoldenReport report;
  for (const GoldenCase& golden : file.cases) {
    const Outcome o = CaseVerifier(golden, options, report).run();
    if (!o.ok()) return o.trouble();
  }
  return report;
}

}  // namespace attest
