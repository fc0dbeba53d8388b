#include "harness/stress_bits.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>

#include "harness/bucket.hpp"
#include "harness/core/formats.hpp"
#include "harness/oracle_verdict.hpp"

namespace attest {
namespace {

constexpr std::array kTensors = {"partial_lse", "partial_o", "lse", "o"};  // as data flows
enum Rank { kPartialLse, kPartialO, kLse, kO };

bool is_bf16(int rank, const Contract& contract) {
  return rank == kO || (rank == kPartialO && contract.arithmetic.bf16_partials);
}

class Differences {
 public:
  explicit Differences(const Contract& contract) : contract_(contract) {}

  void compare(int rank, Place place, std::uint32_t actual, std::uint32_t expected) {
    BitDifference& found = found_[rank];
    ++found.of;
    if (actual == expected || found.elements++ > 0) return;
    Worst& at = found.at;
    at.tensor = kTensors[rank];
    at.sequence = place.sequence;
    at.query_token = place.query_token;
    at.head = place.head;
    at.split = place.split;
    at.column = place.column;
    at.actual_bits = actual;
    at.expected_bits = expected;
    at.actual = value(rank, actual);
    at.expected = value(rank, expected);
    at.error = at.actual - at.expected;
    at.ratio = std::numeric_limits<double>::infinity();
  }
  std::optional<BitDifference> first() const {
    for (const BitDifference& found : found_) {
      if (found.elements > 0) return found;
    }
    return std::nullopt;
  }

 private:
  double value(int rank, std::uint32_t bits) const {
    return is_bf16(rank, contract_) ? decode_bf16(static_cast<std::uint16_t>(bits))
                                    : double{std::bit_cast<float>(bits)};
  }

  const Contract& contract_;
  std::array<BitDifference, 4> found_;
};

void compare_partials(const Subject& s, Place place, const std::vector<TokenRange>& live,
                      const Output& actual, const Output& expected, Differences& differences) {
  for (int split = 0; split < s.num_splits; ++split) {
    const std::int64_t at = stored_partial(s, place.row, split);
    place.split = split;
    place.column = -1;
    differences.compare(kPartialLse, place, actual.partial_lse[at], expected.partial_lse[at]);
    // Of a split that shows the row no token, the partial o is free.
    if (owed_in_split(s, place, live) == Owed::kNothing) continue;
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::int64_t element = at * kDV + place.column;
      differences.compare(kPartialO, place, actual.partial_o[element], expected.partial_o[element]);
    }
  }
}

}  // namespace

std::optional<BitDifference> bit_difference(const Subject& s, const Output& actual,
                                            const Output& expected) {
  if (actual.o == expected.o && actual.lse == expected.lse &&
      actual.partial_o == expected.partial_o && actual.partial_lse == expected.partial_lse) {
    return std::nullopt;
  }
  Differences differences(s.contract);
  each_row_while(s, [&](Place place, const std::vector<TokenRange>& live) {
    if (s.num_splits > 1) compare_partials(s, place, live, actual, expected, differences);
    differences.compare(kLse, place, actual.lse[place.row], expected.lse[place.row]);
    const std::int64_t begin = place.row * kDV;
    for (place.column = 0; place.column < kDV; ++place.column) {
      differences.compare(kO, place, actual.o[begin + place.column],
                          expected.o[begin + place.column]);
    }
    return true;
  });
  return differences.first();
}

std::string to_text(const BitDifference& difference, const Contract& contract) {
  const Worst& at = difference.at;
  const bool bf16 =
      at.tensor == "o" || (at.tensor == "partial_o" && contract.arithmetic.bf16_partials);
  const int digits = bf16 ? 4 : 8;
  return fmt::format(
      "{} differs at {}: {:.9g} (0x{:0{}x}) against {:.9g} (0x{:0{}x}); {} of {} elements of {}",
      at.tensor, place_text(at), at.actual, at.actual_bits, digits, at.expected, at.expected_bits,
      digits, difference.elements, difference.of, at.tensor);
}

Verdict verdict_of_difference(const Subject& subject, const Inputs& inputs, const Output& actual,
                              const BitDifference& difference, std::string_view stage,
                              const VerifyOptions& options) {
  const std::string text = to_text(difference, subject.contract);
  auto judged = oracle_verdict(subject, inputs, actual, options);
  if (judged.ok() && judged->verdict.status == Status::kFailed) {
    Verdict& verdict = judged->verdict;
    verdict.reason += "; " + text;
    return std::move(verdict);
  }
  Verdict verdict;
  verdict.status = Status::kFailed;
  verdict.reason = fmt::format("{}: {}", subject.kernel, text);
  if (judged.ok()) {
    verdict.checked = judged->verdict.checked;
    verdict.reason += "; each is within its bounds, but the contract promises the bits";
  }
  verdict.wrong = difference.elements;
  verdict.worst = {difference.at};
  verdict.contract = to_text(subject.contract);
  verdict.bucket = to_string(
      Bucket{std::string(stage), "differs", difference.at.tensor, std::string(subject.kernel)});
  return verdict;
}

}  // namespace attest
