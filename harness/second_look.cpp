#include "harness/second_look.hpp"

#include <algorithm>

#include "harness/blame.hpp"
#include "harness/bucket.hpp"
#include "harness/core/parallel.hpp"
#include "reference/certify.hpp"

namespace attest {
namespace {

// An element that is a little too small looks as if it were truncated; so many do not by chance.
constexpr std::int64_t kFewestForRounding = 16;

Certificate certify_worst(const Subject& s, const Inputs& inputs, const Reference& reference,
                          const std::vector<Worst>& worst) {
  const Worst& at = *std::max_element(
      worst.begin(), worst.end(), [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
  return certify_row(s.problem, inputs, s.contract, row_of(s.problem, at), at.split, reference);
}

void blame_reference(const Certificate& certificate, Verdict& verdict) {
  verdict.status = Status::kInfra;
  verdict.bucket.clear();
  verdict.reason =
      certificate.text() + (verdict.reason.empty() ? "" : "; it judged: ") + verdict.reason;
}

}  // namespace

void certify_pass(const Subject& s, const Inputs& inputs, const Output& output,
                  const Reference& reference, std::uint64_t seed, int threads, Verdict& verdict) {
  if (verdict.status != Status::kPassed) return;
  Evidence& evidence = verdict.evidence;
  const std::vector<RowToCertify> rows = rows_to_certify(output, reference, seed);
  std::vector<Certificate> certificates(rows.size());
  const bool done = parallel_for(threads, rows.size(), [&](int, std::size_t i) {
    certificates[i] = certify_row(s.problem, inputs, s.contract, rows[i].row, -1, reference);
  });
  if (!done) throw std::bad_alloc();  // as the caller's own
  for (const Certificate& certificate : certificates) {
    if (certificate.trouble()) return blame_reference(certificate, verdict);
    ++evidence.rows_certified;
    evidence.reference_off = std::max(evidence.reference_off, certificate.of_allowed);
  }
}

void second_look(const Subject& s, const Inputs& inputs, const Output& output,
                 const Reference& reference, Verdict& verdict) {
  // Memory that a kernel damaged is a failure that no reference has a part in.
  if (verdict.status != Status::kFailed || verdict.wrong == 0 || verdict.worst.empty()) return;
  const Certificate certificate = certify_worst(s, inputs, reference, verdict.worst);
  if (certificate.trouble()) {
    return blame_reference(certificate, verdict);
  }
  const Blame blamed = blame(s, inputs, output, reference);
  if (blamed.stage == kRoundingOfO && verdict.wrong >= kFewestForRounding) {
    Bucket bucket = *parse_bucket(verdict.bucket);
    bucket.stage = "rounding";
    verdict.bucket = to_string(bucket);
  }
  verdict.blame = blamed.text;
  verdict.blame += (verdict.blame.empty() ? "" : "; ") + certificate.text();
}

}  // namespace attest
