#include "harness/blame_hypothesis_list.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace attest {
namespace {

constexpr double kLog2e = 1.44269504088896340736;

class Builder {
 public:
  Builder(const Subject& s, const RowShape& shape)
      : s_(s), a_(s.contract.arithmetic), visible_(shape.visible) {
    for (const TokenRange& split : shape.splits) {
      if (split.begin >= visible_) break;
      last_begin_ = split.begin;
      ++seen_splits_;
    }
  }

  Hypotheses make() {
    list_.supposed.push_back(as_declared(a_));
    list_.all.emplace_back();
    roundings_of_p();
    scores();
    descale_factors();
    softmax();
    tokens();
    stores();
    merges();
    return std::move(list_);
  }

 private:
  // A mistake of stage 1 that may be in any split.
  template <class Change>
  Hypothesis& suppose(std::string words, bool applies, const Change& change) {
    Supposed supposed = as_declared(a_);
    change(supposed);
    Hypothesis& h = add(std::move(words), applies);
    h.supposed = static_cast<int>(list_.supposed.size());
    h.in_wrong_splits = true;
    list_.supposed.push_back(supposed);
    return h;
  }
  // One that has its own place among the tokens.
  template <class Change>
  void suppose_at(std::string words, bool applies, const Change& change) {
    suppose(std::move(words), applies, change).in_wrong_splits = false;
  }
  Hypothesis& add(std::string words, bool applies) {
    Hypothesis h;
    h.words = std::move(words);
    h.applies = applies;
    list_.all.push_back(std::move(h));
    return list_.all.back();
  }

  void round_p(std::string words, bool applies, int bits, int min_exponent, double largest,
               bool truncates, bool l_from_rounded) {
    suppose(std::move(words), applies, [&](Supposed& h) {
      h.p_bits = bits;
      h.p_min_exponent = min_exponent;
      h.p_largest = largest;
      h.p_truncates = truncates;
      h.l_from_rounded_p = l_from_rounded;
    });
  }
  void roundings_of_p() {
    const bool rounds = a_.p_bits < 24, lr = a_.l_from_rounded_p;
    round_p(a_.p_truncates ? "P were rounded to nearest" : "P were truncated", rounds, a_.p_bits,
            a_.p_min_exponent, a_.p_largest, !a_.p_truncates, lr);
    round_p("P were rounded to fp8 e4m3", a_.p_bits != 4, 4, -6, 448, false, lr);
    round_p("P were rounded to bf16", a_.p_bits != 8, 8, -126, 0x1.fep127, false, lr);
    round_p(
        lr ? "the denominator summed P before its rounding" : "the denominator summed rounded P",
        rounds, a_.p_bits, a_.p_min_exponent, a_.p_largest, a_.p_truncates, !lr);
  }

  void scores() {
    for (int dims : {512, 576, 192}) {
      const double times = 1 / std::sqrt(dims) / s_.problem.sm_scale;
      suppose(fmt::format("the scale were 1/sqrt({})", dims), std::fabs(times - 1) > 1e-5,
              [&](Supposed& h) { h.score_times = times; });
    }
    suppose("q.k were not there", true, [](Supposed& h) { h.score_times = 0; });
    suppose("the RoPE part were left out of q.k", true, [](Supposed& h) { h.without_rope = true; });
    // The same scores, in stage 1 or under the wrong row of the output.
    const int others = suppose("heads were shifted by one: q is the next head's",
                               s_.problem.h_q > 1, [](Supposed& h) { h.next_heads_q = true; })
                           .supposed;
    add("heads were shifted by one: lse and o are the next head's",
        s_.problem.h_q > 1 && s_.num_splits > 1)
        .final_from = others;
  }

  // Of fp8.
  void descale_factors() {
    const double of_q = s_.problem.q_scale, of_kv = s_.problem.kv_scale;
    const auto left_out = [&](std::string words, bool applies, double of_scores, double of_v) {
      suppose(std::move(words), applies, [&](Supposed& h) {
        h.score_times = 1 / of_scores;
        h.v_times = 1 / of_v;
      });
    };
    left_out("q_scale were left out", of_q != 1, of_q, 1);
    left_out("kv_scale were left out of the scores", of_kv != 1, of_kv, 1);
    left_out("kv_scale were left out of V", of_kv != 1, 1, of_kv);
    left_out("kv_scale were left out", of_kv != 1, of_kv, of_kv);
    left_out("both descale factors were left out", of_q != 1 && of_kv != 1, of_q * of_kv, of_kv);
  }

  void softmax() {
    suppose("o were not rescaled when the running max moves", true,
            [](Supposed& h) { h.rescales_o = false; });
    suppose("l were not rescaled when the running max moves", true,
            [](Supposed& h) { h.rescales_l = false; });
    suppose("no max were subtracted", true, [](Supposed& h) { h.has_max = false; });
    suppose("V were the next token's", true, [](Supposed& h) { h.v_of_next = true; });
  }

  void tokens() {
    const int tile = (visible_ - 1 - last_begin_) / a_.tile_tokens * a_.tile_tokens + last_begin_;
    const auto skip = [&](std::string words, bool applies, TokenRange tokens) {
      suppose_at(std::move(words), applies, [&](Supposed& h) { h.skips = tokens; });
    };
    skip("the last token were not there", visible_ > 1, {visible_ - 1, visible_});
    skip("the first token were not there", visible_ > 1, {0, 1});
    skip("the last tile were not there", tile > 0 && tile < visible_ - 1, {tile, visible_});
    suppose_at("the first token counted twice", true, [](Supposed& h) { h.counts_twice = 0; });
    suppose_at("the mask showed one token more", true, [](Supposed& h) { h.sees_one_more = true; });
    suppose_at("each split ended a token early", seen_splits_ > 1,
               [](Supposed& h) { h.splits_end_later = -1; });
    suppose_at("each split ended a token late", seen_splits_ > 1,
               [](Supposed& h) { h.splits_end_later = 1; });
  }

  void stores() {
    const bool merges = s_.num_splits > 1;
    add("lse were in base 2", true).lse_times = kLog2e;
    Hypothesis& partial = add("partial_lse were in base 2", merges);
    partial.partial_lse_times = kLog2e;
    partial.merge_reads_them = partial.in_wrong_splits = true;
    Hypothesis& both = add("partial_lse and lse were in base 2", merges);
    both.partial_lse_times = both.lse_times = kLog2e;
    add("lse were rounded to bf16", true).lse_as = Stored::kBf16;
    Hypothesis& rounded = add("partial_lse were rounded to bf16", merges);
    rounded.partial_lse_as = Stored::kBf16;
    rounded.merge_reads_them = true;
    add(a_.o_truncates ? "o were rounded to nearest" : "o were truncated", true).o_as =
        a_.o_truncates ? Stored::kBf16 : Stored::kBf16Truncated;
    add("partial_o were bf16", merges && !a_.bf16_partials).partial_o_as = Stored::kBf16;
    add("partial_o were truncated to bf16", merges).partial_o_as = Stored::kBf16Truncated;
  }

  void merges() {
    if (s_.num_splits == 1) return;
    add("splits were averaged", true).averages = true;
    for (int split = 0; split < s_.num_splits; ++split) {
      add(fmt::format("split {} were not there", split), split < seen_splits_).lost_split = split;
    }
  }

  const Subject& s_;
  const Arithmetic& a_;
  const int visible_;
  int last_begin_ = 0, seen_splits_ = 0;
  Hypotheses list_;
};

}  // namespace

Hypotheses hypotheses_for(const Subject& subject, const RowShape& shape) {
  return Builder(subject, shape).make();
}

}  // namespace attest
