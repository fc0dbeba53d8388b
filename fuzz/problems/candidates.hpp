// The list that simpler.hpp's functions fill.
#pragma once
#include <utility>
#include <vector>

#include "fuzz/problems/simpler.hpp"

namespace attest {

class Candidates {
 public:
  Candidates(const Case& c, const Kernel& kernel) : c_(c), kernel_(kernel) {}
  const Case& from() const { return c_; }
  const Kernel& kernel() const { return kernel_; }

  // `change` of a copy of the case. Dropped when it is no candidate or there already. A shared
  // prefix that is too long for it afterwards is cut.
  template <class Change>
  void add(Change&& change) {
    Case next = c_;
    change(next);
    take(std::move(next));
  }
  template <class Change>
  void add_problem(Change&& change) {
    add([&](Case& next) { change(next.problem); });
  }
  std::vector<Case> list() && { return std::move(list_); }

 private:
  void take(Case next);

  const Case& c_;
  const Kernel& kernel_;
  std::vector<Case> list_;
};

}  // namespace attest
