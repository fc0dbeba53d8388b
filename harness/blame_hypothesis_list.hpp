// The hypotheses of blame: mistakes that kernels make, as data.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/blame_row.hpp"
#include "harness/judge_element.hpp"
#include "harness/subject.hpp"

namespace attest {

struct Hypothesis {
  std::string words;  // after "it behaves as if"
  bool applies = true;
  int supposed = 0;    // stage 1, of Hypotheses::supposed
  int final_from = 0;  // lse and o alone are merged from this one; 0: from `supposed`
  // The mistake may be in any split: it is looked for in those alone that are wrong, if any is.
  bool in_wrong_splits = false;
  double partial_lse_times = 1, lse_times = 1;
  bool merge_reads_them = false;  // partial lse are wrong for the merge too
  int lost_split = -1;            // of the merge
  bool averages = false;
  std::optional<Stored> partial_lse_as = {}, partial_o_as = {}, lse_as = {}, o_as = {};
};

struct Hypotheses {  // the first of each: as declared
  std::vector<Supposed> supposed;
  std::vector<Hypothesis> all;
};

// For one row; the same hypotheses in the same order for all rows of a sequence.
Hypotheses hypotheses_for(const Subject& subject, const RowShape& shape);

}  // namespace attest
