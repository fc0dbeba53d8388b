#include "harness/second_look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "harness/blame.hpp"
#include "reference/certify.hpp"

namespace attest {
namespace {

Certificate certify_worst(const Subject& s, const Inputs& inputs, const Reference& reference,
                          const std::vector<Worst>& worst) {
  const Worst& at = *std::max_element(
      worst.begin(), worst.end(), [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
  const auto& s_q = s.problem.s_q;
  const std::int64_t token =
      std::accumulate(s_q.begin(), s_q.begin() + at.sequence, std::int64_t{at.query_token});
  return certify_row(s.problem, inputs, s.contract, token * s.problem.h_q + at.head, at.split,
                     reference);
}

}  // namespace

void second_look(const Subject& s, const Inputs& inputs, const Output& output,
                 const Reference& reference, Verdict& verdict) {
  // Memory that a kernel damaged is a failure that no reference has a part in.
  if (verdict.status != Status::kFailed || verdict.wrong == 0 || verdict.worst.empty()) return;
  const Certificate certificate = certify_worst(s, inputs, reference, verdict.worst);
  if (certificate.trouble()) {
    verdict.status = Status::kInfra;
    verdict.bucket.clear();
    verdict.reason = fmt::format("{}; it judged: {}", certificate.text(), verdict.reason);
    return;
  }
  verdict.blame = blame(s, inputs, output, reference).text;
  verdict.blame += (verdict.blame.empty() ? "" : "; ") + certificate.text();
}

}  // namespace attest
