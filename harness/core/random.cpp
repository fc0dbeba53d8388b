#include "harness/core/random.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <vector>

#include "harness/core/formats.hpp"

namespace attest {
namespace {

// The normal quantiles at (i + 1/2) / 2^16.
std::vector<std::uint16_t> make_quantiles() {
  constexpr int kSize = 1 << 16;
  std::vector<std::uint16_t> table(kSize);
  for (int i = 0; i < kSize / 2; ++i) {
    const double p = (i + 0.5) / kSize;
    const double z = std::sqrt(2.0) * boost::math::erfc_inv(2 * p);
    table[kSize - 1 - i] = encode_bf16(z);
    table[i] = table[kSize - 1 - i] ^ 0x8000;
  }
  return table;
}

template <class Value>
void fill(Stream stream, std::span<std::uint16_t> row, Value value) {
  std::size_t i = 0;
  for (; i + 4 <= row.size(); i += 4) {
    const std::uint64_t bits = stream.bits(i / 4);
    row[i] = value(bits & 0xffff);
    row[i + 1] = value((bits >> 16) & 0xffff);
    row[i + 2] = value((bits >> 32) & 0xffff);
    row[i + 3] = value(bits >> 48);
  }
  for (; i < row.size(); ++i) row[i] = value((stream.bits(i / 4) >> (16 * (i % 4))) & 0xffff);
}

}  // namespace

void fill_normal(Stream stream, std::span<std::uint16_t> row) {
  static const std::vector<std::uint16_t> kQuantiles = make_quantiles();
  const std::uint16_t* const table = kQuantiles.data();
  fill(stream, row, [table](std::uint64_t bits) { return table[bits]; });
}

void fill_one_to_two(Stream stream, std::span<std::uint16_t> row) {
  fill(stream, row,
       [](std::uint64_t bits) { return static_cast<std::uint16_t>(0x3f80 | (bits & 0x7f)); });
}

}  // namespace attest
