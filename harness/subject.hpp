// Subject: what is judged, apart from the numbers; and the walk over its rows that all who look at
// an output share.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

struct Subject {
  std::string_view kernel;
  const Problem& problem;
  const Contract& contract;
  int num_splits = 1;
  std::vector<std::string_view> blind_to =
      {};  // strawmen that the data cannot tell (distribution.hpp)
};

struct Place {
  int sequence = -1, query_token = -1, head = -1, split = -1, column = -1;
  std::int64_t row = -1;
};

// What a kernel owes a place.
enum class Owed {
  kValue,     // within the gates
  kNothing,   // what a row without tokens gets: exactly 0 in o, exactly -inf in lse
  kUnwritten  // the poison
};

inline int visible_at(const Subject& s, const Place& place) {
  return s.problem.visible(place.sequence, place.query_token);
}

inline Owed owed_in_row(const Subject& s, const Place& place) {
  if (visible_at(s, place) > 0) return Owed::kValue;
  return s.contract.empty_row == EmptyRow::kUnwritten ? Owed::kUnwritten : Owed::kNothing;
}

// Of a split's lse. Where it is kNothing, its partial o is free: the merge gives it no weight.
inline Owed owed_in_split(const Subject& s, const Place& place,
                          const std::vector<TokenRange>& live) {
  if (place.split >= static_cast<int>(live.size())) return Owed::kUnwritten;
  return visible_at(s, place) > live[place.split].begin ? Owed::kValue : Owed::kNothing;
}

// Where a kernel stores a row's partial; Expected has it at row * num_splits + split.
inline std::int64_t stored_partial(const Subject& s, std::int64_t row, int split) {
  const int h_q = s.problem.h_q;
  return (row / h_q * s.num_splits + split) * h_q + row % h_q;
}

// The row that an element of a report stands in.
inline std::int64_t row_of(const Problem& problem, const Worst& at) {
  std::int64_t token = at.query_token;
  for (int seq = 0; seq < at.sequence; ++seq) token += problem.s_q[seq];
  return token * problem.h_q + at.head;
}

// Calls visit(place, live splits of its sequence) for each row, in order, until it returns false.
template <class Visit>
void each_row_while(const Subject& s, const Visit& visit) {
  const Problem& p = s.problem;
  std::int64_t row = 0;
  for (int seq = 0; seq < p.b(); ++seq) {
    const std::vector<TokenRange> live =
        live_splits(s.contract.split_rule, p.s_kv[seq], s.num_splits);
    for (int i = 0; i < p.s_q[seq]; ++i) {
      for (int head = 0; head < p.h_q; ++head, ++row) {
        const Place place{.sequence = seq, .query_token = i, .head = head, .row = row};
        if (!visit(place, live)) return;
      }
    }
  }
}

}  // namespace attest
