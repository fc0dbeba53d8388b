#include "reference/explain_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "reference/explain_factors.hpp"

namespace attest::slow {
namespace {

constexpr const char* kText[kNames] = {"Q.K accumulation",
                                       "logit rounding",
                                       "exp2",
                                       "running-max rescale",
                                       "max in force",
                                       "score noise",
                                       "repeated scores",
                                       "P rounded",
                                       "P near a boundary",
                                       "P.V accumulation",
                                       "denominator",
                                       "split merge",
                                       "division-free merge",
                                       "bf16 partials",
                                       "stored lse",
                                       "largest |v|",
                                       "P rounded under an unknown max",
                                       "sum of P's roundings",
                                       "stored shift",
                                       "subnormal floor"};

double total_of(const double (&values)[kNames]) {
  return std::accumulate(std::begin(values), std::end(values), 0.0);
}

}  // namespace

void Terms::take_roots(double o) {
  for (const auto& [squares, factor] : {std::pair{&square_, 1.0}, {&square_of_o_, std::fabs(o)}}) {
    const double all = total_of(*squares);
    for (int i = 0; i < kNames && all > 0; ++i) {
      linear_[i] += kSigmas * factor * (*squares)[i] / std::sqrt(all);
      (*squares)[i] = 0;
    }
  }
}

double Terms::sum() const { return total_of(linear_); }

double Terms::denominator() const {
  return total_of(denominator_) + kSigmas * std::sqrt(total_of(denominator_square_));
}

Terms Terms::of_logarithm(double worst) const {
  Terms terms;
  const double quotient = 1 - denominator();
  if (!(quotient > kLeastDenominator)) {
    terms.only(Name::kCap, worst);
    return terms;
  }
  std::copy_n(denominator_, kNames, terms.linear_);
  std::copy_n(denominator_square_, kNames, terms.square_);
  terms.take_roots(0);
  terms.scale(1 / quotient);
  return terms;
}

void Terms::scale(double factor) {
  for (double& value : linear_) value *= factor;
}

void Terms::only(Name name, double value) {
  *this = {};
  add(name, value);
}

std::vector<BoundTerm> Terms::named(const Arithmetic& a) const {
  std::vector<BoundTerm> terms;
  for (int i = 0; i < kNames; ++i) {
    if (linear_[i] == 0) continue;
    std::string name = kText[i];
    if (i == static_cast<int>(Name::kRounding) && a.p_bits == 8) name += " to bf16";
    terms.push_back({name, linear_[i]});
  }
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return std::tie(b.value, a.name) < std::tie(a.value, b.name);
  });
  return terms;
}

}  // namespace attest::slow
