#include "reference/oracle.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

namespace attest {
namespace {

using Big = boost::multiprecision::number<boost::multiprecision::cpp_bin_float_50::backend_type,
                                          boost::multiprecision::et_off>;

std::vector<Big> scores(const Problem& problem, const RowView& view, TokenRange tokens) {
  std::vector<Big> x;
  for (int j = tokens.begin; j < tokens.end; ++j) {
    Big dot = 0;
    for (int d = 0; d < kDQk; ++d) dot += Big(view.q(d)) * Big(view.k(j, d));
    x.push_back(Big(problem.sm_scale) * dot);
  }
  return x;
}

void split(const Big& value, double& high, double& low) {
  high = static_cast<double>(value);
  low = static_cast<double>(Big(value - Big(high)));
}

}  // namespace

OraclePair oracle_pair(const Problem& problem, const Inputs& inputs, std::int64_t row,
                       TokenRange tokens) {
  const RowView view(problem, inputs, row);
  const TokenRange seen = view.seen(tokens);
  OraclePair result;
  result.low.lse = 0;
  if (seen.begin == seen.end) return result;
  std::vector<Big> x = scores(problem, view, seen);
  const Big largest = *std::max_element(x.begin(), x.end());
  Big l = 0;
  for (Big& w : x) {
    w = exp(w - largest);
    l += w;
  }
  for (int d = 0; d < kDV; ++d) {
    Big sum = 0;
    for (int j = seen.begin; j < seen.end; ++j) sum += x[j - seen.begin] * Big(view.k(j, d));
    split(sum / l, result.high.o[d], result.low.o[d]);
  }
  split(largest + log(l), result.high.lse, result.low.lse);
  return result;
}

RowResult<double> oracle(const Problem& problem, const Inputs& inputs, std::int64_t row,
                         TokenRange tokens) {
  return oracle_pair(problem, inputs, row, tokens).high;
}

double oracle_exp(double x) { return static_cast<double>(Big(exp(Big(x)))); }

}  // namespace attest
