// What a TileWorker works on at one time: unpacked tokens and their weights.
#pragma once
#include "reference/tile.hpp"

namespace attest {

inline constexpr int kKeyTile = 16;  // tokens whose K is unpacked at once
inline constexpr int kStrip = 32;    // columns of V

struct TileWorker::Scratch {
  alignas(64) double q[kDQk][kBlockRows];
  alignas(64) float q_magnitude[kDQk][kBlockRows];
  alignas(64) double k[kKeyTile][kDQk];
  alignas(64) float k_magnitude[kKeyTile][kDQk];
  alignas(64) double x[kKeyTile][kBlockRows];
  alignas(64) float spread[kKeyTile][kBlockRows];
  alignas(64) double w[kValueTile][kBlockRows];
  alignas(64) float absolute[kAbsSums][kValueTile][kBlockRows];      // weights of |v|
  alignas(64) float with_sign[kSignedSums][kValueTile][kBlockRows];  // of v
  alignas(64) double square[kValueTile][kBlockRows];                 // of v^2
  alignas(64) double norm[kValueTile];                               // |v|_1 of the token
  alignas(64) double v[kValueTile][kStrip];
  alignas(64) float v_single[kValueTile][kStrip];
};

}  // namespace attest
