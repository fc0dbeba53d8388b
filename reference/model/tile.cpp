// From the cache to the scores of a tile.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/core/formats.hpp"
#include "harness/core/random.hpp"
#include "reference/model/matrix_unit.hpp"
#include "reference/model/steps.hpp"
#include "reference/vector.hpp"

namespace attest::model {
namespace {

typedef std::uint16_t Short16 __attribute__((vector_size(32)));
typedef std::uint32_t Word16 __attribute__((vector_size(64)));

Float16 widen(const Short16& bf16) {
  const Word16 bits = __builtin_convertvector(bf16, Word16) << 16;
  Float16 v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

// Four perfect shuffles of 16 rows of 16 transpose them.
void transpose(Short16 (&rows)[16]) {
  for (int round = 0; round < 4; ++round) {
    Short16 next[16];
    for (int i = 0; i < 8; ++i) {
      next[2 * i] = __builtin_shufflevector(rows[i], rows[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                            5, 21, 6, 22, 7, 23);
      next[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 8], 8, 24, 9, 25, 10, 26, 11, 27,
                                                12, 28, 13, 29, 14, 30, 15, 31);
    }
    for (int i = 0; i < 16; ++i) rows[i] = next[i];
  }
}

using Bf16Row = std::array<std::uint16_t, kDQk>;

// The codes of a row as bf16, which holds every number of e4m3fnuz.
Bf16Row cache_row(const Setup& setup, std::int64_t row) {
  Bf16Row bf16;
  const std::int64_t first = row * kDQk;
  if (setup.problem.kv_type == Storage::kBf16) {
    std::copy_n(setup.inputs.kv.data<std::uint16_t>() + first, kDQk, bf16.begin());
    return bf16;
  }
  const auto* const codes = setup.inputs.kv.data<std::uint8_t>() + first;
  for (int d = 0; d < kDQk; ++d) bf16[d] = encode_bf16(decode_fp8(codes[d], Fp8::kE4m3fnuz));
  return bf16;
}

// Dims lead, so that the lanes of a vector are tokens.
void load_keys(const Setup& setup, std::span<const std::int64_t> rows, Tile& tile) {
  for (int first = 0; first < tile.lanes; first += kLanes) {
    std::array<Bf16Row, kLanes> from = {};
    for (int i = 0; i < std::min(kLanes, tile.tokens - first); ++i)
      from[i] = cache_row(setup, rows[first + i]);
    for (int d = 0; d < kDQk; d += kLanes) {
      Short16 block[kLanes];
      for (int i = 0; i < kLanes; ++i) block[i] = load<Short16>(&from[i][d]);
      transpose(block);
      for (int i = 0; i < kLanes; ++i)
        store(&tile.keys[(d + i) * tile.lanes + first], widen(block[i]));
    }
  }
}

// Every element of a dequantised K has an error of its own, which is a function of where it is
// stored.
void disturb_keys(const Setup& setup, std::span<const std::int64_t> rows, Tile& tile) {
  const double most = setup.arithmetic.k_relative * (1 - 0x1p-16);  // and fp32 rounds once
  for (int token = 0; token < tile.tokens; ++token) {
    const Stream stream{mix64(setup.options.seed ^ mix64(rows[token]))};
    for (int d = 0; d < kDQk; ++d) {
      float& k = tile.keys[d * tile.lanes + token];
      k = static_cast<float>(k * (1 + most * (2 * stream.uniform(d) - 1)));
    }
  }
}

void load_values(const Setup& setup, std::span<const std::int64_t> rows, Tile& tile) {
  for (int token = 0; token < tile.tokens; ++token) {
    const Bf16Row from = cache_row(setup, rows[token]);
    for (int d = 0; d < kDV; d += kLanes)
      store(&tile.values[token * kDV + d], widen(load<Short16>(&from[d])));
  }
}

}  // namespace

std::vector<float> query_of(const Setup& setup, const Place& place, int head) {
  const std::int64_t first =
      place.token * setup.problem.q_stride_t() + head * setup.problem.q_stride_h();
  std::vector<float> q(kDQk);
  for (int d = 0; d < kDQk; ++d) {
    q[d] = setup.problem.q_type == Storage::kBf16
               ? decode_bf16(setup.inputs.q.data<std::uint16_t>()[first + d])
               : decode_fp8(setup.inputs.q.data<std::uint8_t>()[first + d], Fp8::kE4m3fnuz);
    if (setup.arithmetic.scaled_q) q[d] = decode_bf16(encode_bf16(q[d] * setup.q_scale));
  }
  return q;
}

TileRows rows_of_tile(const Setup& setup, const Place& place, TokenRange tokens) {
  const int page_size = setup.problem.page_size;
  const std::int32_t* const table =
      setup.inputs.kv_indices.data() + setup.inputs.kv_indptr[place.sequence];
  TileRows rows;
  for (int token = tokens.begin; token < tokens.end; ++token) {
    rows.keys.push_back(std::int64_t{table[token / page_size]} * page_size + token % page_size);
  }
  rows.values = rows.keys;
  return rows;
}

void load_tile(const Setup& setup, const TileRows& rows, Tile& tile) {
  tile.tokens = static_cast<int>(rows.keys.size());
  tile.lanes = (tile.tokens + kLanes - 1) / kLanes * kLanes;
  tile.keys.resize(std::size_t{kDQk} * tile.lanes);
  tile.values.resize(std::size_t{kDV} * tile.tokens);
  load_keys(setup, rows.keys, tile);
  if (setup.arithmetic.k_relative > 0) disturb_keys(setup, rows.keys, tile);
  load_values(setup, rows.values, tile);
}

void score_tile(const Setup& setup, const Tile& tile, Head& head) {
  head.scores.assign(tile.lanes, 0.0f);
  multiply_accumulate(setup.arithmetic.matrix_unit, head.q, tile.keys.data(), tile.lanes,
                      tile.lanes, head.scores.data());
  head.scores.resize(tile.tokens);
  head.tile_max = kNoScore;
  for (float& score : head.scores) {
    score *= setup.dot_scale;
    head.tile_max = std::max(head.tile_max, score);
  }
}

}  // namespace attest::model
