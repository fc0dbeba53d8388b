#include "harness/fault_set.hpp"

#include <cmath>

namespace attest {
namespace {

struct ByQuery {
  bool only_behind_the_diagonal = true, all_heads = true;
};

ByQuery by_query(const Subject& s, const StageFaults& f) {
  ByQuery result;
  int faulty_heads = 0;
  each_row_while(s, [&](const Place& place, const std::vector<TokenRange>&) {
    faulty_heads += f.lse->has_row(place.row) || f.o->has_row(place.row) ? 1 : 0;
    if (place.head + 1 < s.problem.h_q) return true;  // the last head of a query token
    const bool is_last = place.query_token + 1 == s.problem.s_q[place.sequence];
    if (faulty_heads > 0 && is_last) result.only_behind_the_diagonal = false;
    if (faulty_heads > 0 && faulty_heads < s.problem.h_q) result.all_heads = false;
    faulty_heads = 0;
    return true;
  });
  return result;
}

}  // namespace

std::string_view to_string(FaultKind kind) {
  switch (kind) {
    case FaultKind::kUnwritten:
      return "unwritten";
    case FaultKind::kNan:
      return "nan";
    case FaultKind::kInf:
      return "inf";
    case FaultKind::kWrong:
      return "wrong";
    case FaultKind::kOverwritten:
      return "overwritten";
  }
  return "?";
}

FaultKind kind_of(Fault fault, const Place& place, double actual) {
  const bool is_lse = place.column < 0;
  if (fault == Fault::kUnwritten) return FaultKind::kUnwritten;
  if (fault == Fault::kOverwritten) return FaultKind::kOverwritten;
  if (fault == Fault::kNonFinite && std::isnan(actual)) return FaultKind::kNan;
  if (fault == Fault::kNonFinite && !(is_lse && actual < 0)) return FaultKind::kInf;
  return FaultKind::kWrong;
}

void FaultSet::add(const Place& place, bool owes_nothing, double actual) {
  pattern_.note(place.column);
  if (actual == 0) ++zeros_;
  if (owes_nothing) ++without_tokens_;
  if (place.row >= static_cast<std::int64_t>(rows_.size())) rows_.resize(place.row + 1);
  rows_[place.row] = true;
}

std::string_view pattern_of(const Subject& subject, FaultKind kind, const StageFaults& faults) {
  if (faults.lse->count() == 0 && faults.o->is_in_columns()) return "columns";
  const ByQuery where = by_query(subject, faults);
  // Overwritten is only what owes nothing: there it says nothing.
  const bool is_empty = kind != FaultKind::kOverwritten && where.all_heads &&
                        faults.lse->is_only_where_nothing_is_owed() &&
                        faults.o->is_only_where_nothing_is_owed();
  if (is_empty) return "empty";
  if (faults.o->count() == 0) return "lse";
  if (kind != FaultKind::kWrong) return where.all_heads ? "all" : "head";
  return where.only_behind_the_diagonal && faults.lse->count() > 0 ? "causal" : "scattered";
}

}  // namespace attest
