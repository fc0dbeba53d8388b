// Online softmax over the tiles of a split.
#include <algorithm>

#include "reference/model/matrix_unit.hpp"
#include "reference/model/steps.hpp"

namespace attest::model {
namespace {

// Whether a running max gives way to a tile's. The first tile's always counts.
bool must_move(const Setup& setup, float max, float tile_max) {
  const float threshold = static_cast<float>(setup.arithmetic.lazy_rescale);
  const float rise = tile_max - max;
  return (setup.log2_scores ? rise : rise * kLog2e) > threshold;
}

}  // namespace

float weight_of(const Setup& setup, float difference) {
  return setup.units.exp2(setup.log2_scores ? difference : difference * kLog2e);
}

void move_maxima(const Setup& setup, int wave, std::span<Head> heads) {
  const std::size_t group = std::max(setup.arithmetic.lazy_heads, 1);
  for (std::size_t first = 0; first < heads.size(); first += group) {
    const std::span<Head> together = heads.subspan(first, std::min(group, heads.size() - first));
    const bool any = std::any_of(together.begin(), together.end(), [&](const Head& head) {
      return must_move(setup, head.waves[wave].max, head.tile_max);
    });
    if (!any) continue;
    for (Head& head : together) {
      Wave& running = head.waves[wave];
      rescale(setup, std::max(running.max, head.tile_max), running);
    }
  }
}

void rescale(const Setup& setup, float max, Wave& wave) {
  if (max == wave.max) return;
  const float fade = wave.max == kNoScore ? 0.0f : weight_of(setup, wave.max - max);
  wave.l *= fade;
  for (float& value : wave.o) value *= fade;
  wave.max = max;
}

void weigh_tile(const Setup& setup, const Head& head, const Tile& tile, Wave& wave,
                std::vector<float>& p) {
  const float scale = static_cast<float>(setup.arithmetic.p_scale);
  p.resize(tile.tokens);
  float sum = 0;
  for (int token = 0; token < tile.tokens; ++token) {
    const float weight = weight_of(setup, head.scores[token] - wave.max);
    p[token] = setup.p_format.round(weight * scale);
    sum += setup.arithmetic.l_from_rounded_p ? p[token] : weight;
  }
  wave.l += sum;
}

void accumulate_tile(const Setup& setup, std::span<const float> p, const Tile& tile, Wave& wave) {
  multiply_accumulate(setup.arithmetic.matrix_unit, p, tile.values.data(), kDV, kDV, wave.o.data());
}

Wave join_waves(const Setup& setup, std::vector<Wave>& waves) {
  if (waves.size() == 1) return std::move(waves[0]);
  Wave all;
  for (const Wave& wave : waves) all.max = std::max(all.max, wave.max);
  for (Wave& wave : waves) {
    if (wave.max == kNoScore) continue;  // it had no tile
    rescale(setup, all.max, wave);
    all.l += wave.l;
    for (int d = 0; d < kDV; ++d) all.o[d] += wave.o[d];
  }
  return all;
}

RowResult finish_split(const Setup& setup, const Wave& wave) {
  const Arithmetic& a = setup.arithmetic;
  const float scale = static_cast<float>(a.p_scale), unscale = 1 / scale;
  const float l = a.l_from_rounded_p ? wave.l / scale : wave.l;
  RowResult result;
  const float inverse = setup.units.reciprocal(l);
  for (int d = 0; d < kDV; ++d) {
    const float sum = wave.o[d] * unscale;
    result.o[d] = (setup.units.divides() ? sum / l : sum * inverse) * setup.o_scale;
  }
  const float log2_l = setup.units.log2(l);
  if (!setup.log2_scores) {
    result.lse = wave.max + log2_l * kLn2Single;
  } else if (a.lse_in_log2) {
    result.lse = (wave.max + log2_l) * kLn2Single;
  } else {
    result.lse = wave.max * kLn2Single + log2_l * kLn2Single;
  }
  return result;
}

}  // namespace attest::model
