// Suites: named lists of cases, each case by its token.
#pragma once
#include <span>
#include <string_view>

namespace attest {

struct Suite {
  std::string_view name;
  std::string_view purpose;
  std::span<const std::string_view> tokens;  // canonical
  bool only_by_name =
      false;  // its kernels need something of the user's: not taken by --match alone
};

std::span<const Suite> all_suites();
const Suite* find_suite(std::string_view name);

}  // namespace attest
