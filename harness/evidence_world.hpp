// For tests: a case with its inputs, its reference and a right output.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/core/case.hpp"
#include "harness/generate.hpp"
#include "harness/judge.hpp"
#include "harness/strawmen.hpp"
#include "reference/reference.hpp"

namespace attest {

struct World {
  explicit World(std::string_view token, const Contract& terms = {})
      : c(*parse_token(token)), contract(terms), num_splits(c.problem.num_splits) {
    auto made = generate(c, {contract.split_rule, num_splits, contract.arithmetic.tile_tokens}, 1);
    inputs = std::move(*made);
    reference = refer(c.problem);
    // d / d ln sm_scale, by a difference that is small against 2 % and large against fp64's errors.
    constexpr double kStep = 0x1p-10;
    Problem other = c.problem;
    other.sm_scale *= 1 + kStep;
    const Reference there = refer(other);
    const auto slope = [](const std::vector<double>& from, const std::vector<double>& to) {
      std::vector<float> slopes;
      for (std::size_t i = 0; i < from.size(); ++i)
        slopes.push_back(from[i] == to[i] ? 0 : static_cast<float>((to[i] - from[i]) / kStep));
      return slopes;
    };
    reference.temperature_o = slope(reference.expected.o, there.expected.o);
    reference.temperature_lse = slope(reference.expected.lse, there.expected.lse);
    output = exact_output(subject(), reference);
  }

  Reference refer(const Problem& problem) const {
    return *attest::reference(problem, inputs, contract, num_splits, {.threads = 1});
  }
  Subject subject() const { return {"kernel_x", c.problem, contract, num_splits, blind_to}; }
  // Only T0, with these radii everywhere.
  void set_radii(float o, float lse) {
    Bound t0 = std::move(reference.tiers.t0);
    reference.tiers = {};
    std::fill(t0.o.begin(), t0.o.end(), o);
    std::fill(t0.partial_o.begin(), t0.partial_o.end(), o);
    std::fill(t0.lse.begin(), t0.lse.end(), lse);
    std::fill(t0.partial_lse.begin(), t0.partial_lse.end(), lse);
    reference.tiers.t0 = std::move(t0);
  }

  Case c;
  Contract contract;
  int num_splits;
  Inputs inputs;
  Reference reference;
  Output output;
  std::vector<std::string_view> blind_to;
};

}  // namespace attest
