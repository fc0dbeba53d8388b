// A property of two launches of one problem, whose rows are tied one to one.
#pragma once
#include "fuzz/properties/parts/launches.hpp"

namespace attest {

class TwiceProperty : public Property {
 public:
  TwiceProperty(std::string_view name, std::string_view statement)
      : name_(name), statement_(statement) {}
  std::string_view name() const override { return name_; }
  std::string_view statement() const override { return statement_; }
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.run_to_run_bitwise);
  }
  std::string why_not(const Case&, const Kernel&) const override { return {}; }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto first = launch_as_drawn(lab, first_case(c));
    if (!first.ok()) return first.trouble();
    std::string words;
    const auto second = other(*first, lab, words);
    if (!second.ok()) return second.trouble();
    const auto ties = tie_all(c.problem, promise(lab.kernel().contract(c.problem)));
    return compare(lab, *first, *second, ties, std::move(words));
  }

 protected:
  virtual Case first_case(Case c) const { return c; }
  // The second launch, and in words what differs.
  virtual Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const = 0;

 private:
  std::string_view name_, statement_;
};

}  // namespace attest
