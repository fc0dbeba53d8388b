#include "harness/stress_steps.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "harness/core/poison.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

// Data of other shapes, which no tensor of an earlier step is mistaken for.
constexpr std::array kDistributions = {"normal", "needles", "sink", "positive", "rescale_steps"};
constexpr std::array kOrders = {PageOrder::kShuffled, PageOrder::kReversed, PageOrder::kSequential};

Stream stream_of_step(const Case& c, std::int64_t step) {
  return stream_of(c.seed, Tensor::kPlan, step, -1);
}

// Of a row that has `most` tokens: as many, or none, one, one less, or any number between.
int drawn_length(const Stream& stream, std::uint64_t counter, int most) {
  switch (stream.bits(counter) % 8) {
    case 0:
      return 0;
    case 1:
      return std::min(1, most);
    case 2:
      return std::max(most - 1, 0);
    case 3:
    case 4:
      return static_cast<int>(stream.uniform(counter + 1) * (most + 1));
    default:
      return most;
  }
}

Problem changed(const Problem& p, const Stream& stream) {
  Problem q = p;
  const std::size_t rows = p.s_kv.size();
  for (std::size_t i = rows; i > 1; --i) {  // Fisher and Yates
    const std::size_t j = stream.bits(i) % i;
    std::swap(q.s_kv[i - 1], q.s_kv[j]);
    std::swap(q.s_q[i - 1], q.s_q[j]);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    q.s_kv[i] = drawn_length(stream, rows + 1 + 2 * i, q.s_kv[i]);
  }
  // Such as have a token, that have one: a batch of nothing tells nothing.
  if (q.total_kv() == 0) q.s_kv = p.s_kv;
  return q;
}

// Patterns that are no value of anything, or too large an index.
constexpr std::array<std::uint16_t, 5> kHostileBits = {kPoison16, 0xffff, 0x7f80, 0x7f7f, 0xff80};
constexpr std::size_t kHeld = 4;

}  // namespace

std::vector<Case> replay_steps(const Kernel& kernel, const Case& c, int count) {
  std::vector<Case> steps{c};
  steps[0].problem.num_splits = kernel.num_splits(c.problem);
  for (int k = 1; k < count; ++k) {
    const Stream stream = stream_of_step(c, k);
    Case step = steps[0];
    step.problem = changed(step.problem, stream);
    step.problem.page_order = kOrders[k % kOrders.size()];
    step.distribution = k % 2 == 0 ? c.distribution : kDistributions[k / 2 % kDistributions.size()];
    step.seed = {stream.bits(0)};
    steps.push_back(std::move(step));
  }
  return steps;
}

std::size_t step_of(const Case& c, int stream, int round, std::size_t steps) {
  const auto at = static_cast<std::size_t>(round);
  if (at < steps) return (at + static_cast<std::size_t>(stream) * (steps / 2)) % steps;
  return stream_of(c.seed, Tensor::kPlan, -1 - stream, round).bits(0) % steps;
}

Temporaries::Temporaries(Device& device, Seed seed, std::vector<std::size_t> sizes)
    : device_(device), seed_(seed), sizes_(std::move(sizes)) {
  std::erase(sizes_, std::size_t{0});
}

Temporaries::~Temporaries() {
  for (const Buffer& buffer : held_) device_.release(buffer);
}

Outcome Temporaries::turn() {
  for (const Buffer& buffer : held_) device_.release(buffer);
  held_.clear();
  const Stream stream = stream_of(seed_, Tensor::kPages, -1, turns_++);
  for (std::size_t i = 0; i < kHeld; ++i) {
    const auto buffer =
        device_.allocate("temporary", sizes_[stream.bits(2 * i) % sizes_.size()],
                         kHostileBits[stream.bits(2 * i + 1) % kHostileBits.size()]);
    if (!buffer.ok()) return buffer.trouble();
    held_.push_back(*buffer);
  }
  return Done{};
}

}  // namespace attest
