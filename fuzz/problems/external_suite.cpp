#include "fuzz/problems/external_suite.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/contract.hpp"

namespace attest {
namespace {

// What is asked of an object. `one_split`: it writes all of a case that has one split.
struct Asked {
  const char* kernel;
  int heads = 16;
  std::vector<int> s_q = {1};
  bool one_split = false;
  Storage q = Storage::kBf16, kv = Storage::kBf16;
};

Asked fp8(Asked asked) {
  asked.q = asked.kv = Storage::kFp8;
  return asked;
}

const std::vector<Asked>& all_asked() {
  static const std::vector<Asked> asked = {
      {"aiter_bf16_gqa8", 8, {1}, true},
      {"aiter_bf16_gqa16", 16, {1}, true},
      {"aiter_bf16_gqa16_q4", 16, {2, 3, 4}},
      {"aiter_bf16_gqa16_q8", 16, {5, 8}},
      {"aiter_bf16_gqa32", 32, {1, 2}},
      {"aiter_bf16_gqa64", 64, {1, 2}},
      {"aiter_bf16_gqa128", 128, {1, 2}},
      {"aiter_bf16_gqa8_ps", 8, {2}, true},
      {"aiter_bf16_gqa16_ps", 16, {1, 2, 4}, true},
      {"aiter_bf16_fp8_gqa16_ps", 16, {1, 2, 4}, true, Storage::kBf16, Storage::kFp8},
      fp8({"aiter_fp8_gqa8", 8, {1}}),
      fp8({"aiter_fp8_gqa16", 16, {1}}),
      fp8({"aiter_fp8_gqa16_q2", 16, {2}}),
      fp8({"aiter_fp8_gqa16_q4", 16, {3, 4}}),
      fp8({"aiter_fp8_gqa16_q4_qh16", 16, {3, 4}}),
      fp8({"aiter_fp8_gqa128", 128, {1, 2}}),
      fp8({"aiter_fp8_gqa16_ps", 16, {1}, true}),
      fp8({"aiter_fp8_gqa16_q2_ps", 16, {2}, true}),
      fp8({"aiter_fp8_gqa16_q4_ps", 16, {3, 4}, true}),
      fp8({"aiter_fp8_gqa16_q4_qh16_ps", 16, {3, 4}, true}),
      fp8({"aiter_fp8_gqa64_ps", 64, {1}, true}),
      fp8({"aiter_fp8_gqa64_lse_ps", 64, {1}, true}),
      fp8({"aiter_fp8_gqa128_ps", 128, {1}, true}),
  };
  return asked;
}

struct Question {
  std::vector<int> s_kv;
  int splits;
  const char* distribution;
  int page_base = 0;    // 1: the pool's first row belongs to nobody, and is poison
  bool scaled = false;  // descale factors of an fp8 tensor are not 1
};

// Lengths at the edges of tiles of 16, 32 and 64 tokens; sequences without tokens; splits that are
// empty, that have one tile, that have several.
const std::vector<Question>& all_questions() {
  static const std::vector<Question> questions = {
      {{1, 15, 16, 17, 63, 64, 65, 129}, 1, "needles"},
      {{1000, 100}, 1, "normal"},
      {{1, 15, 16, 17, 63, 64, 65, 129}, 2, "census"},
      {{512, 1000}, 4, "normal"},
      {{1000, 129}, 3, "one_hot"},
      {{300, 0, 65}, 2, "needles"},
      {{0, 300, 70, 9}, 2, "normal"},
      {{65, 31, 33}, 16, "uniform_logits"},
      {{1000, 17}, 5, "rescale_steps"},
      {{200, 70, 9}, 2, "head_distinct"},
      {{200, 70, 9}, 2, "normal", 0, true},
      {{300, 17}, 2, "normal", 1},
  };
  return questions;
}

// The next length at which every query token sees something, and no plan's last split has fewer
// tokens than query tokens.
int taken_length(int length, int s_q, int splits) {
  length = std::max(length, s_q);
  const auto last_split = [&] {
    const TokenRange last = live_splits(SplitRule{}, length, splits).back();
    return last.end - last.begin;
  };
  while (last_split() < s_q) ++length;
  return length;
}

Case case_of(const Asked& asked, int s_q, const Question& question) {
  Case c;
  c.kernel = asked.kernel;
  c.problem.h_q = asked.heads;
  c.problem.s_kv.clear();
  for (const int length : question.s_kv) {
    c.problem.s_kv.push_back(length == 0 ? 0 : taken_length(length, s_q, question.splits));
  }
  c.problem.s_q.assign(question.s_kv.size(), s_q);
  c.problem.num_splits = question.splits;
  c.problem.q_type = asked.q;
  c.problem.kv_type = asked.kv;
  c.problem.page_base = question.page_base;
  // Powers of two: their product with sm_scale is exact.
  if (question.scaled && asked.q == Storage::kFp8) c.problem.q_scale = 0.5f;
  if (question.scaled && asked.kv == Storage::kFp8) c.problem.kv_scale = 2;
  c.distribution = question.distribution;
  return c;
}

std::vector<std::string> make_tokens() {
  std::vector<std::string> tokens;
  for (const Asked& asked : all_asked()) {
    for (const int s_q : asked.s_q) {
      for (const Question& question : all_questions()) {
        if (question.scaled && asked.kv == Storage::kBf16) continue;
        if (question.splits > 1 || asked.one_split) {
          tokens.push_back(to_token(case_of(asked, s_q, question)));
        }
      }
    }
  }
  return tokens;
}

}  // namespace

std::span<const std::string_view> external_suite() {
  static const std::vector<std::string> tokens = make_tokens();
  static const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  return views;
}

}  // namespace attest
