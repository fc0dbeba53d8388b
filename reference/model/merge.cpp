// The merge of splits from their stored partial results, and what is stored.
#include <algorithm>
#include <bit>

#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"
#include "reference/model/defects.hpp"
#include "reference/model/steps.hpp"

namespace attest::model {
namespace {

// e^difference of two stored, natural lse.
float merge_weight(const Setup& setup, float difference) {
  return setup.units.exp2(difference * kLog2e);
}

void add(float weight, const RowResult& split, RowResult& sum) {
  for (int d = 0; d < kDV; ++d) sum.o[d] += weight * split.o[d];
}

void divide(const Setup& setup, float largest, float sum, RowResult& result) {
  const float inverse = setup.units.reciprocal(sum);
  for (float& value : result.o) {
    value = setup.units.divides() ? value / sum : value * inverse;
  }
  result.lse = largest + setup.units.log2(sum) * kLn2Single;
}

RowResult merge_sequentially(const Setup& setup, std::span<const RowResult> splits) {
  RowResult result;
  float largest = kNoScore, sum = 0;
  for (const RowResult& split : splits) {
    const float now = std::max(largest, split.lse);
    const float fade = largest == kNoScore ? 0.0f : merge_weight(setup, largest - now);
    const float weight = merge_weight(setup, split.lse - now);
    for (float& value : result.o) value *= fade;
    add(weight, split, result);
    sum = sum * fade + weight;
    largest = now;
  }
  divide(setup, largest, sum, result);
  return result;
}

float largest_lse(std::span<const RowResult> splits) {
  float largest = kNoScore;
  for (const RowResult& split : splits) largest = std::max(largest, split.lse);
  return largest;
}

RowResult merge_max_first(const Setup& setup, std::span<const RowResult> splits) {
  const float largest = largest_lse(splits);
  RowResult result;
  float sum = 0;
  for (const RowResult& split : splits) {
    const float weight = merge_weight(setup, split.lse - largest);
    sum += weight;
    add(weight, split, result);
  }
  divide(setup, largest, sum, result);
  return result;
}

RowResult merge_without_division(const Setup& setup, std::span<const RowResult> splits) {
  const float largest = largest_lse(splits);
  float sum = 0;
  for (const RowResult& split : splits) sum += merge_weight(setup, split.lse - largest);
  RowResult result;
  result.lse = largest + setup.units.log2(sum) * kLn2Single;
  for (const RowResult& split : splits)
    add(merge_weight(setup, split.lse - result.lse), split, result);
  return result;
}

}  // namespace

RowResult merge_splits(const Setup& setup, std::span<const RowResult> splits) {
  switch (setup.arithmetic.merge) {
    case Merge::kSequential:
      return merge_sequentially(setup, splits);
    case Merge::kMaxFirst:
      return merge_max_first(setup, splits);
    case Merge::kDivisionFree:
      break;
  }
  return merge_without_division(setup, splits);
}

Stores::Stores(const Setup& setup, ModelResult& result) : setup_(setup), result_(result) {
  const std::size_t rows = setup.problem.rows(), splits = setup.options.num_splits;
  const std::size_t partials = splits > 1 ? rows * splits : 0;
  const std::uint32_t unwritten = setup.arithmetic.bf16_partials ? kPoison16 : kPoison32;
  result.o_fp32.assign(rows * kDV, std::bit_cast<float>(kPoison32));
  result.output.o.assign(rows * kDV, kPoison16);
  result.output.lse.assign(rows, kPoison32);
  result.output.partial_o.assign(partials * kDV, unwritten);
  result.output.partial_lse.assign(partials, kPoison32);
}

std::int64_t Stores::partial_index(std::int64_t token, int split, int head) const {
  return (token * setup_.options.num_splits + split) * setup_.problem.h_q + head;
}

void Stores::partial(const Place& place, int head, const RowResult& value) {
  const std::int64_t at = partial_index(place.token, place.split, head);
  result_.output.partial_lse[at] = std::bit_cast<std::uint32_t>(value.lse);
  for (int d = 0; d < kDV; ++d) {
    result_.output.partial_o[at * kDV + d] = setup_.arithmetic.bf16_partials
                                                 ? encode_bf16(value.o[d])
                                                 : std::bit_cast<std::uint32_t>(value.o[d]);
  }
}

void Stores::copy_partials(const Place& place, const ModelResult& from) {
  const std::int64_t first = partial_index(place.token, place.split, 0);
  const std::int64_t heads = setup_.problem.h_q;
  std::copy_n(from.output.partial_lse.begin() + first, heads,
              result_.output.partial_lse.begin() + first);
  std::copy_n(from.output.partial_o.begin() + first * kDV, heads * kDV,
              result_.output.partial_o.begin() + first * kDV);
}

RowResult Stores::stored_partial(std::int64_t token, int split, int head) const {
  const std::int64_t at = partial_index(token, split, head);
  RowResult value;
  value.lse = std::bit_cast<float>(result_.output.partial_lse[at]);
  for (int d = 0; d < kDV; ++d) {
    const std::uint32_t bits = result_.output.partial_o[at * kDV + d];
    value.o[d] = setup_.arithmetic.bf16_partials ? decode_bf16(static_cast<std::uint16_t>(bits))
                                                 : std::bit_cast<float>(bits);
  }
  return value;
}

void Stores::final(std::int64_t token, int head, const RowResult& right) {
  RowResult value = right;
  plant_final(setup_, value);
  const std::int64_t row = token * setup_.problem.h_q + planted_head(setup_, head);
  const Rounding rounding =
      setup_.arithmetic.o_truncates ? Rounding::kTowardZero : Rounding::kNearestEven;
  result_.output.lse[row] = std::bit_cast<std::uint32_t>(value.lse);
  for (int d = 0; d < kDV; ++d) {
    result_.o_fp32[row * kDV + d] = value.o[d];
    result_.output.o[row * kDV + d] = encode_bf16(value.o[d], rounding);
  }
}

}  // namespace attest::model
