// Case: a Problem with the data and the schedule that it runs under. Its name is its token: one shell-safe line that
// rebuilds it exactly (token.cpp). Canonical order, only what differs from the default; an unknown key is an error.
//   v1:k=mla_decode:h=12:s=1,63,4096x8:q=2:page=64:dist=needles:seed=7
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "harness/core/problem.hpp"
#include "harness/core/schedule.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

struct Seed {
  std::uint64_t value = 0;
  bool operator==(const Seed&) const = default;
};

inline constexpr std::string_view kOracle = "oracle";  // the property of agreeing with the reference

struct Case {
  std::string kernel = "mla_decode";
  Problem problem;
  std::string distribution = "normal";
  Seed seed;
  Schedule schedule;
  std::string property{kOracle};  // what must hold of it, by name: fuzz/properties/
  std::string steps;  // what a serving batch that begins as `problem` goes through: fuzz/trajectories/; empty: one launch
  bool operator==(const Case&) const = default;
};

std::string to_token(const Case& c);
Result<Case> parse_token(std::string_view token);  // Trouble: kUsage, with the key and what it allows

}  // namespace attest
