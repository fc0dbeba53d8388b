#include "harness/blame_where.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest {
namespace {

constexpr int kColumnBlock = 64;  // what a wave of the P.V product holds

void mark(std::vector<bool>& set, std::int64_t index) {
  if (index < 0) return;
  if (index >= static_cast<std::int64_t>(set.size())) set.resize(index + 1);
  set[index] = true;
}

std::int64_t size_of(const std::vector<bool>& set) {
  return std::count(set.begin(), set.end(), true);
}

int first_of(const std::vector<bool>& set) {
  return static_cast<int>(std::find(set.begin(), set.end(), true) - set.begin());
}

// "heads 0-15", "head 3", "all heads"; empty where there is only one.
std::string of_all(const char* one, const std::vector<bool>& set, std::int64_t all) {
  if (all <= 1 || size_of(set) == 0) return {};
  if (size_of(set) == all) return fmt::format("all {}s", one);
  return fmt::format("{}{} {}", one, size_of(set) == 1 ? "" : "s", ranges_text(set));
}

// Empty also where all are faulty.
std::string some(const char* one, const std::vector<bool>& set, std::int64_t all) {
  return size_of(set) == all ? "" : of_all(one, set, all);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    text += text.empty() ? part : ", " + part;
  }
  return text;
}

}  // namespace

std::string ranges_text(const std::vector<bool>& set) {
  std::string text;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (!set[i]) continue;
    std::size_t last = i;
    while (last + 1 < set.size() && set[last + 1]) ++last;
    if (!text.empty()) text += ", ";
    text += last == i ? fmt::format("{}", i) : fmt::format("{}-{}", i, last);
    i = last;
  }
  return text;
}

void Where::add(const Place& place, Fault fault) {
  ++count_;
  ++faults_[static_cast<int>(fault)];
  mark(rows_, place.row);
  mark(sequences_, place.sequence);
  mark(query_tokens_, place.query_token);
  mark(heads_, place.head);
  mark(splits_, place.split);
  mark(columns_, place.column);
}

void Where::add(const Where& other) {
  count_ += other.count_;
  for (std::size_t i = 0; i < std::size(faults_); ++i) faults_[i] += other.faults_[i];
  const auto unite = [](std::vector<bool>& set, const std::vector<bool>& with) {
    set.resize(std::max(set.size(), with.size()));
    for (std::size_t i = 0; i < with.size(); ++i) set[i] = set[i] || with[i];
  };
  unite(rows_, other.rows_);
  unite(sequences_, other.sequences_);
  unite(query_tokens_, other.query_tokens_);
  unite(heads_, other.heads_);
  unite(splits_, other.splits_);
  unite(columns_, other.columns_);
}

// Tokens are those of one sequence: where several are faulty, only split numbers say something.
std::string Where::splits_text(const Subject& s) const {
  if (s.num_splits <= 1 || size_of(splits_) == 0) return {};
  if (size_of(splits_) == s.num_splits) return "all splits";
  if (size_of(splits_) > 1)
    return fmt::format("splits {} of {}", ranges_text(splits_), s.num_splits);
  const int split = first_of(splits_);
  std::string text = fmt::format("split {} of {}", split, s.num_splits);
  if (size_of(sequences_) > 1) return text;
  const auto live =
      live_splits(s.contract.split_rule, s.problem.s_kv[first_of(sequences_)], s.num_splits);
  if (split >= static_cast<int>(live.size())) return text + " (it has no tokens)";
  return text + fmt::format(" (tokens {}..{})", live[split].begin, live[split].end - 1);
}

std::string Where::columns_text() const {
  if (size_of(columns_) == 0) return {};
  if (size_of(columns_) == 1) return fmt::format("column {}", first_of(columns_));
  std::vector<bool> blocks(kDV);
  for (std::size_t d = 0; d < columns_.size(); ++d) {
    if (columns_[d])
      std::fill_n(blocks.begin() + d / kColumnBlock * kColumnBlock, kColumnBlock, true);
  }
  return of_all("column", blocks, kDV);
}

std::string Where::text(const Subject& s) const {
  const auto all = [&](Fault fault) { return faults_[static_cast<int>(fault)] == count_; };
  return joined({all(Fault::kUnwritten)     ? "not written"
                 : all(Fault::kNonFinite)   ? "not finite"
                 : all(Fault::kOverwritten) ? "written where nothing belongs"
                                            : "",
                 some("sequence", sequences_, s.problem.b()),
                 some("query token", query_tokens_, s.problem.max_s_q()), splits_text(s),
                 of_all("head", heads_, s.problem.h_q), columns_text()});
}

}  // namespace attest
