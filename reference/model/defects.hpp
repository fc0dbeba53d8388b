// The planted defects, at the seams of the model's steps. Each function leaves its argument alone
// unless the launch's defect is one of its own.
#pragma once
#include <span>
#include <vector>

#include "reference/model/steps.hpp"

namespace attest::model {

// Roundings that were not declared: the arithmetic that the kernel has in place of its contract's.
Arithmetic planted_arithmetic(const Arithmetic& declared, Defect defect);
float planted_scale(float sm_scale, Defect defect);

// Whether the part of a launch that computes `place` differs from the right kernel's.
bool touches(const Setup& setup, const Place& place);

// ---- stage 1: one split of one query token ----
class PlantedSplit {
 public:
  PlantedSplit(const Setup& setup, const Place& place);

  void queries(std::span<Head> heads) const;
  void first_maxima(std::span<Head> heads) const;
  void rows(TokenRange tile, TileRows& rows) const;  // may leave none
  void loaded(TokenRange tile, Tile& loaded) const;
  void scores(std::span<Head> heads) const;
  // Around the step that moves the running maxima of a wave.
  void before_move(int wave, std::span<const Head> heads);
  void after_move(TokenRange tile, int wave, std::span<Head> heads);
  void accumulated(Wave& wave) const;
  void result(RowResult& result) const;

 private:
  bool is(Defect defect) const { return setup_.options.defect == defect; }
  void spoil_move(TokenRange tile, const Wave& before, Wave& now, bool& spoiled) const;

  const Setup& setup_;
  const Place& place_;
  int visible_ = 0;  // tokens that the query token sees
  std::vector<TokenRange> live_;
  std::vector<Wave> before_;   // [heads]
  std::vector<char> spoiled_;  // [heads]
};

// ---- stage 2 ----
bool skips_split(const Setup& setup, int split, int live);
int planted_lse_head(const Setup& setup, int head);  // whose lse weighs the splits of a head
// `splits` are the stored results that the merge read.
void plant_merge(const Setup& setup, std::span<const RowResult> splits, int live,
                 RowResult& merged);

// ---- stores of the final result ----
void plant_final(const Setup& setup, RowResult& value);
int planted_head(const Setup& setup, int head);  // whose place a result is stored at

}  // namespace attest::model
