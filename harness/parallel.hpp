// parallel_for: work(i) for each i in [0, count), spread over threads in blocks. work must not
// throw.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "harness/core/helpers.hpp"

namespace attest {

template <class Work>
void parallel_for(std::int64_t count, int threads, const Work& work) {
  constexpr std::int64_t kBlock = 256;
  std::atomic<std::int64_t> next{0};
  const auto drain = [&] {
    for (std::int64_t begin; (begin = next.fetch_add(kBlock)) < count;) {
      for (std::int64_t i = begin; i < std::min(begin + kBlock, count); ++i) work(i);
    }
  };
  const std::int64_t blocks = (count + kBlock - 1) / kBlock;
  const auto helpers = start_helpers(static_cast<int>(std::min<std::int64_t>(threads, blocks)) - 1,
                                     [&](int) { drain(); });
  drain();
}

}  // namespace attest
