// Summary: what every report says of a run.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "reports/run/results.hpp"

namespace attest {

// "failed", "proves too little": what an exit code of a run means.
std::string_view exit_text(int code);

// Whether a case counts for the exit code: one that was drawn and shows nothing does not
// (graded_tally).
bool is_graded(const CaseRecord& record);

// When the run began, where that is a time of the form "2026-11-30T02:00:00Z"; otherwise empty.
std::string start_time_of(const Results& results);

// The command that sees a case again; of a case that has none (see_again), why.
std::string again_text(const Results& results, const CaseRecord& record);

// What the run proves, in a few sentences: what is wrong, what is within its bounds, what of it
// would have been noticed.
std::string proof_of(const Results& results);

// What a reader must know before trusting the numbers, a line each: lines cut short, cases that
// ended twice, planned cases that did not end.
std::vector<std::string> notes_of(const Results& results);
// At most `most` of the lines, and "and 7 more WHAT" where there are more.
std::vector<std::string> first_of(const std::vector<std::string>& lines, std::size_t most,
                                  const std::string& what);

// Cases with one cause that somebody must look at.
struct Finding {
  std::string bucket;                   // of those without one: "vacuous.mla_decode"
  const CaseRecord* example = nullptr;  // of the gravest the one with the shortest token
  std::vector<const CaseRecord*> cases;
  Status status() const { return example->verdict.status; }
};
// All graded ones that neither passed nor were skipped, the gravest first, of these most cases
// first.
std::vector<Finding> findings_of(const Results& results);

// How much a status weighs: 0 the kernel is wrong (exit code 1), 1 the machine (4), 2 it proves too
// little (5), 3 excused or fine.
int gravity(Status status);

// A case in lines, as a person wants it at night: how wrong, where, and the command to see it
// again. The last is always whole, the others are cut to so many bytes.
std::string story_of(const Results& results, const CaseRecord& record, std::size_t most_bytes);

}  // namespace attest
