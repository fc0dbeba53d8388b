#include "harness/device/emulator/arrival.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace attest::emulator {
namespace {

using Order = std::vector<std::uint32_t>;

void shuffle(Order& order, std::uint64_t seed) {
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[(seed = next_choice(seed)) % i]);
}

// From the end on: the last k workgroups have k! orders, and rank / k! says which of those before
// them comes next. 21! is over 2^64: no rank moves more than the last 21.
void permute(Order& order, std::uint64_t rank) {
  constexpr std::size_t kMost = 21;
  const std::size_t moved = std::min(order.size(), kMost);
  std::vector<std::size_t> digits;  // of the rank in factorial base, the least first
  for (std::size_t radix = 1; radix <= moved; ++radix) {
    digits.push_back(rank % radix);
    rank /= radix;
  }
  auto at = order.end() - static_cast<std::ptrdiff_t>(moved);
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, ++at) {
    const auto chosen = at + static_cast<std::ptrdiff_t>(*digit);
    std::rotate(at, chosen, chosen + 1);
  }
}

void put_last(Order& order, std::uint64_t group) {
  const auto at = order.begin() + static_cast<std::ptrdiff_t>(group % order.size());
  std::rotate(at, at + 1, order.end());
}

}  // namespace

Order arrival_order(const Schedule& schedule, std::uint32_t groups) {
  Order order(groups);
  std::iota(order.begin(), order.end(), 0u);
  switch (schedule.kind) {
    case ScheduleKind::kOrder:
      permute(order, schedule.seed);
      break;
    case ScheduleKind::kLast:
      put_last(order, schedule.seed);
      break;
    default:
      if (schedule.seed) shuffle(order, schedule.seed);
  }
  return order;
}

}  // namespace attest::emulator
