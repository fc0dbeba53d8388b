// parallel_for: `work(worker, item)` for every item in [0, items), on `threads` threads. Which
// thread takes an item does not show in results: items share nothing. False when a thread ran out
// of memory.
#pragma once
#include <atomic>
#include <cstddef>
#include <new>

#include "harness/core/helpers.hpp"

namespace attest {

template <class Work>
[[nodiscard]] bool parallel_for(int threads, std::size_t items, Work work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> out_of_memory{false};
  const auto run = [&](int worker) {
    try {
      for (std::size_t i = next++; i < items; i = next++) work(worker, i);
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  {
    const auto helpers = start_helpers(threads - 1, run);
    run(0);
  }
  return !out_of_memory;
}

}  // namespace attest
