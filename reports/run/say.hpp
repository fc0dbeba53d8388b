// Texts for a stream that may fail: a full disk, a closed pipe. fmt::print throws there, and would
// end a run for the sake of a remark.
#pragma once
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace attest {

// Whether all of it was written, or waits in the stream's buffer; if not, errno says why.
template <class... T>
[[nodiscard]] bool say_to(std::FILE* to, fmt::format_string<T...> format, T&&... values) {
  const std::string text = fmt::format(format, std::forward<T>(values)...);
  return std::fwrite(text.data(), 1, text.size(), to) == text.size();
}

// To stderr, where there is nobody left to tell when it fails.
template <class... T>
void say(fmt::format_string<T...> format, T&&... values) {
  static_cast<void>(say_to(stderr, format, std::forward<T>(values)...));
}

}  // namespace attest
