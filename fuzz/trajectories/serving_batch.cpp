#include "fuzz/trajectories/serving_batch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest {

ServingBatch::ServingBatch(const Problem& beginning)
    : beginning_(beginning), splits_(beginning.num_splits) {
  for (int seq = 0; seq < beginning.b(); ++seq) add(beginning.s_kv[seq], beginning.s_q[seq]);
}

int ServingBatch::rows() const {
  return std::max(static_cast<int>(requests_.size()), padded_rows_);
}

int ServingBatch::tokens() const {
  int tokens = 0;
  for (const Request& request : requests_) tokens += request.s_kv;
  return tokens;
}

Problem ServingBatch::problem_of_rows(int rows, int num_splits) const {
  Problem p = beginning_;
  p.num_splits = num_splits;
  p.s_kv.assign(rows, 0);
  p.s_q.assign(rows, 1);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    p.s_kv[i] = requests_[i].s_kv;
    p.s_q[i] = requests_[i].s_q;
  }
  return p;
}

std::string ServingBatch::why_not_replay() const {
  if (!captured_) return "nothing was captured";
  if (static_cast<int>(requests_.size()) > captured_->b()) {
    return fmt::format("{} requests, and {} rows were captured", requests_.size(), captured_->b());
  }
  for (const Request& request : requests_) {
    if (request.s_q > captured_->max_s_q()) {
      return fmt::format("a request has {} query tokens, and {} were captured", request.s_q,
                         captured_->max_s_q());
    }
  }
  return {};
}

std::string ServingBatch::why_not(const Step& step) const {
  const int count = static_cast<int>(requests_.size());
  const auto outside = [](const char* what, int value, int low, int high) {
    if (value >= low && value <= high) return std::string{};
    return fmt::format("{} {} is outside {}..{}", what, value, low, high);
  };
  const auto no_request = [&] {
    if (step.a < count) return std::string{};
    return fmt::format("there is no request {}; the batch has {}", step.a, count);
  };
  const auto too_many_tokens = [&](int more) {
    return more <= kMaxTokens - tokens() ? std::string{}
                                         : fmt::format("more than {} tokens", kMaxTokens);
  };
  switch (step.verb) {
    case Verb::kAdd:
      if (count == kMaxRows) return fmt::format("more than {} requests", kMaxRows);
      if (auto why = outside("query tokens", step.b, 0, kMaxQueryTokens); !why.empty()) return why;
      return too_many_tokens(step.a);
    case Verb::kGrow:
      if (auto why = no_request(); !why.empty()) return why;
      if (step.b == 0) return "it grows by nothing";
      return too_many_tokens(step.b);
    case Verb::kFinish:
      return no_request();
    case Verb::kPad:
      return outside("rows", step.a, 0, kMaxRows);
    case Verb::kSplits:
      return outside("splits", step.a, 0, kMaxSplits);
    case Verb::kDirty:
      return {};
    case Verb::kLaunch:
    case Verb::kCapture:
      return rows() > 0 ? "" : "the batch has no rows";
    case Verb::kReplay:
      return why_not_replay();
  }
  return "no such step";
}

void ServingBatch::take_pages(Request& request) {
  const int page_size = beginning_.page_size;
  const auto needed = static_cast<std::size_t>((request.s_kv + page_size - 1) / page_size);
  while (request.pages.size() < needed) {
    if (free_pages_.empty()) free_pages_.push_back(pool_pages_++);
    request.pages.push_back(free_pages_.back());
    free_pages_.pop_back();
  }
}

void ServingBatch::add(int s_kv, int s_q) {
  requests_.push_back({next_id_++, s_kv, s_q, {}});
  take_pages(requests_.back());
}

void ServingBatch::apply(const Step& step) {
  switch (step.verb) {
    case Verb::kAdd:
      return add(step.a, step.b > 0 ? step.b : beginning_.s_q[0]);
    case Verb::kGrow:
      requests_[step.a].s_kv += step.b;
      return take_pages(requests_[step.a]);
    case Verb::kFinish: {
      const std::vector<int>& pages = requests_[step.a].pages;
      free_pages_.insert(free_pages_.end(), pages.begin(), pages.end());
      requests_.erase(requests_.begin() + step.a);
      return;
    }
    case Verb::kPad:
      padded_rows_ = step.a;
      return;
    case Verb::kSplits:
      splits_ = step.a;
      return;
    case Verb::kCapture:
      captured_ = problem();
      return;
    case Verb::kDirty:
    case Verb::kLaunch:
    case Verb::kReplay:
      return;
  }
}

std::vector<Step> ServingBatch::changes_before(int round) const {
  constexpr int kLife = 8;  // replays between two that finish
  const int count = static_cast<int>(requests_.size());
  if (count == 0) return {};
  std::vector<Step> steps = {{Verb::kGrow, round % count, 1}};
  if (round % kLife == kLife - 1) {
    const int done = round / kLife % count;
    const Request& request = requests_[done];
    steps.push_back({Verb::kFinish, done});
    steps.push_back({Verb::kAdd, request.s_kv / 2 + 1, request.s_q});
  }
  return steps;
}

}  // namespace attest
