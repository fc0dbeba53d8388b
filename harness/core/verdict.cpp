#include "harness/core/verdict.hpp"

#include <fmt/format.h>

#include <array>

#include "harness/core/check.hpp"

namespace attest {
namespace {

struct StatusRow {
  Status status;
  std::string_view name;
  std::int64_t Tally::*count;
};

constexpr std::array<StatusRow, 11> kStatuses = {{
    {Status::kPassed, "passed", &Tally::passed},
    {Status::kSuspect, "suspect", &Tally::suspect},
    {Status::kVacuous, "vacuous", &Tally::vacuous},
    {Status::kFailed, "failed", &Tally::failed},
    {Status::kFlaky, "flaky", &Tally::flaky},
    {Status::kCrashed, "crashed", &Tally::crashed},
    {Status::kHung, "hung", &Tally::hung},
    {Status::kSkipped, "skipped", &Tally::skipped},
    {Status::kInfra, "infra", &Tally::infra},
    {Status::kXfail, "xfail", &Tally::xfail},
    {Status::kXpass, "xpass", &Tally::xpass},
}};

const StatusRow& row_of(Status status) {
  const StatusRow& row = kStatuses.at(static_cast<std::size_t>(status));
  ATTEST_CHECK(row.status == status);
  return row;
}

}  // namespace

std::string_view to_string(Status status) { return row_of(status).name; }

void Tally::add(Status status) { ++(this->*row_of(status).count); }
void Tally::remove(Status status) { --(this->*row_of(status).count); }

std::int64_t Tally::total() const {
  std::int64_t sum = 0;
  for (const StatusRow& row : kStatuses) sum += this->*row.count;
  return sum;
}

std::string place_text(const Worst& at) {
  std::string text =
      fmt::format("sequence {}, query token {}, head {}", at.sequence, at.query_token, at.head);
  if (at.split >= 0) text += fmt::format(", split {}", at.split);
  if (at.column >= 0) text += fmt::format(", column {}", at.column);
  return text;
}

int exit_code(const Tally& t) {
  if (t.failed + t.crashed + t.hung + t.flaky + t.xpass > 0) return 1;
  if (t.infra > 0) return 4;
  if (t.interrupted) return 3;
  // Green needs evidence: nothing passed, or some cases could not have failed.
  if (t.passed == 0 || t.vacuous + t.suspect > 0) return 5;
  return 0;
}

}  // namespace attest
