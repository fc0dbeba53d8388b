// Scene: what a launch computes - its problem and its rows of numbers - apart from where they are
// stored. A property takes the scene of a case apart, changes it and places it anew, so that what
// it did not change is the same bits.
#pragma once
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/poison.hpp"
#include "harness/core/problem.hpp"

namespace attest {

using Numbers = std::span<std::uint16_t, kDQk>;

class Scene {
 public:
  // 576 elements as the problem stores q or the cache: of bf16 numbers, of fp8 bytes.
  using Row = const std::uint16_t*;

  // `inputs` outlive it.
  Scene(const Problem& problem, const Inputs& inputs);
  // The same rows, for another problem: tokens and q are the caller's to fill.
  explicit Scene(Problem problem) : problem(std::move(problem)), tokens(this->problem.b()) {}

  Problem problem;
  std::vector<std::vector<Row>> tokens;  // [b][s_kv]
  std::vector<Row> q;                    // [rows]

  // A new row of bf16 that begins as a copy; it lives as long as the scene.
  Row made(Row from, const std::function<void(Numbers)>& change);
  // Changes every row of a K in bf16; a row that several sequences share stays one row.
  void change_tokens(const std::function<void(Numbers)>& change);

 private:
  std::deque<std::vector<std::uint16_t>> made_;
};

// Where place() puts pages: a permutation by `seed`, behind the problem's page_base.
struct Placement {
  std::uint64_t seed = 0;
  std::int64_t extra_pages = 2;  // that no sequence uses
};

// The inputs of a scene. Pages with the same rows are one page. All that nobody has business to
// read holds `poison`, as generate() leaves it. Trouble kInfra when there is no memory.
Result<Inputs> place(const Scene& scene, const Placement& placement,
                     std::uint16_t poison = kPoison16);

}  // namespace attest
