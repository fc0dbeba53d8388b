// Helper threads that the caller's work does not depend on: `count` of them, or as many as the
// machine gives. With none, the caller does all the work itself. They are joined when the list
// goes.
#pragma once
#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace attest {

// Calls work(1), work(2) ... on a thread each, which has its own copy of `work`: a temporary at the
// call would be gone before the threads are. `work` must not throw.
template <class Work>
std::vector<std::jthread> start_helpers(int count, const Work& work) {
  std::vector<std::jthread> helpers;
  helpers.reserve(std::max(count, 0));
  try {
    for (int i = 1; i <= count; ++i) helpers.emplace_back([work, i] { work(i); });
  } catch (const std::system_error&) {
    // No memory or no right for another stack: those that started are enough.
  }
  return helpers;
}

}  // namespace attest
