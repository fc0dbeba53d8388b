// parallel_for: `work(worker, item)` for every item in [0, items), on `threads` threads, which take
// `block` items at a time. Which thread takes an item does not show in results: items share
// nothing. False when a thread ran out of memory.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>

#include "harness/core/helpers.hpp"

namespace attest {

template <class Work>
[[nodiscard]] bool parallel_for(int threads, std::size_t items, const Work& work,
                                std::size_t block = 1) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> out_of_memory{false};
  const auto run = [&](int worker) {
    try {
      for (std::size_t begin = next.fetch_add(block); begin < items;
           begin = next.fetch_add(block)) {
        const std::size_t end = std::min(begin + block, items);
        for (std::size_t i = begin; i < end; ++i) work(worker, i);
      }
    } catch (const std::bad_alloc&) {
      out_of_memory = true;
    }
  };
  const std::size_t blocks = (items + block - 1) / block;
  const int most = static_cast<int>(std::min<std::size_t>(threads, blocks));
  {
    const auto helpers = start_helpers(most - 1, run);
    run(0);
  }
  return !out_of_memory;
}

}  // namespace attest
