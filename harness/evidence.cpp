#include "harness/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/strawmen.hpp"
#include "harness/visibility.hpp"

namespace attest {
namespace {

void be_vacuous(Verdict& verdict, std::string reason) {
  if (verdict.status == Status::kVacuous) return;  // the first reason is enough
  verdict.status = Status::kVacuous;
  verdict.reason = std::move(reason);
}

void add_strawmen(const Subject& subject, const std::vector<StrawmanResult>& results,
                  Verdict& verdict) {
  for (const StrawmanResult& result : results) {
    if (!result.differs) continue;
    verdict.evidence.strawmen.emplace_back(result.name);
    const bool is_blind = std::find(subject.blind_to.begin(), subject.blind_to.end(),
                                    result.name) != subject.blind_to.end();
    if (!result.rejected && !is_blind) {
      be_vacuous(verdict, fmt::format("{}: an output with the mistake '{}' would pass too",
                                      subject.kernel, result.name));
    }
  }
}

}  // namespace

void prove(const Subject& subject, const Inputs& inputs, const Output& output,
           const Reference& reference, Verdict& verdict) {
  if (verdict.status != Status::kPassed) return;
  const Visibility seen = visibility_of(subject, inputs, reference);
  Evidence& evidence = verdict.evidence;
  evidence.tokens_visible = seen.tokens.share();
  evidence.pages_visible = seen.pages.share();
  evidence.splits_visible = seen.splits.share();
  evidence.smallest_weight_seen = seen.smallest_weight_seen;
  add_strawmen(subject, judge_strawmen(subject, inputs, output, reference), verdict);
  if (seen.tokens.looked_at > 0 &&
      seen.tokens.visible + seen.pages.visible + seen.splits.visible == 0) {
    be_vacuous(verdict, fmt::format("{}: the loss of no token would be noticed", subject.kernel));
  }
}

}  // namespace attest
