#include "reference/model/kernel_model.hpp"

#include <algorithm>

#include "harness/core/check.hpp"
#include "harness/core/parallel.hpp"
#include "reference/model/defects.hpp"
#include "reference/model/steps.hpp"

namespace attest::model {
namespace {

// The parts of every query token's view, in order: one for each live split, also where it shows the
// token nothing.
std::vector<Place> places_of(const Setup& setup) {
  const Problem& p = setup.problem;
  std::vector<Place> places;
  for (int seq = 0; seq < p.b(); ++seq) {
    const std::vector<TokenRange> splits =
        live_splits(setup.contract.split_rule, p.s_kv[seq], setup.options.num_splits);
    for (int i = 0; i < p.s_q[seq]; ++i) {
      const int visible = p.visible(seq, i);
      for (std::size_t s = 0; s < splits.size(); ++s) {
        places.push_back({seq,
                          i,
                          static_cast<int>(s),
                          setup.inputs.qo_indptr[seq] + i,
                          {std::min(splits[s].begin, visible), std::min(splits[s].end, visible)}});
      }
    }
  }
  return places;
}

std::vector<RowResult> run_split(const Setup& setup, const Place& place) {
  const Arithmetic& a = setup.arithmetic;
  std::vector<Head> heads(setup.problem.h_q);
  for (int h = 0; h < setup.problem.h_q; ++h) {
    heads[h].q = query_of(setup, place, h);
    heads[h].waves.resize(a.waves_per_split);
  }
  PlantedSplit planted(setup, place);
  planted.queries(heads);
  planted.first_maxima(heads);
  Tile tile;
  std::vector<float> p;
  int wave = 0;
  for (int begin = place.tokens.begin; begin < place.tokens.end; begin += a.tile_tokens) {
    const TokenRange tokens{begin, std::min(begin + a.tile_tokens, place.tokens.end)};
    TileRows rows = rows_of_tile(setup, place, tokens);
    planted.rows(tokens, rows);
    if (rows.keys.empty()) continue;
    load_tile(setup, rows, tile);
    planted.loaded(tokens, tile);
    for (Head& head : heads) score_tile(setup, tile, head);
    planted.scores(heads);
    planted.before_move(wave, heads);
    move_maxima(setup, wave, heads);
    planted.after_move(tokens, wave, heads);
    for (Head& head : heads) {
      weigh_tile(setup, head, tile, head.waves[wave], p);
      accumulate_tile(setup, p, tile, head.waves[wave]);
      planted.accumulated(head.waves[wave]);
    }
    wave = (wave + 1) % a.waves_per_split;
  }
  std::vector<RowResult> results;
  for (Head& head : heads) {
    const Wave all = join_waves(setup, head.waves);
    // A defect may have left the split no token.
    results.push_back(all.max == kNoScore ? RowResult{} : finish_split(setup, all));
    planted.result(results.back());
  }
  return results;
}

// A split that shows the query token nothing: zeros and -inf, which the merge gives no weight.
std::vector<RowResult> stage1(const Setup& setup, const Place& place) {
  if (place.tokens.begin == place.tokens.end) return std::vector<RowResult>(setup.problem.h_q);
  return run_split(setup, place);
}

void merge_row(const Setup& setup, const Place& first, int live, int head, Stores& stores) {
  std::vector<RowResult> splits;
  for (int split = 0; split < live; ++split) {
    if (skips_split(setup, split, live)) continue;
    RowResult stored = stores.stored_partial(first.token, split, head);
    if (const int other = planted_lse_head(setup, head); other != head) {
      stored.lse = stores.stored_partial(first.token, split, other).lse;
    }
    if (stored.lse != kNoScore) splits.push_back(stored);
  }
  RowResult merged = merge_splits(setup, splits);
  plant_merge(setup, splits, live, merged);
  stores.final(first.token, head, merged);
}

void finish_empty_rows(const Setup& setup, Stores& stores) {
  if (setup.contract.empty_row == EmptyRow::kUnwritten) return;
  std::int64_t token = 0;
  for (int seq = 0; seq < setup.problem.b(); ++seq) {
    for (int i = 0; i < setup.problem.s_q[seq]; ++i, ++token) {
      if (setup.problem.visible(seq, i) > 0) continue;
      for (int head = 0; head < setup.problem.h_q; ++head) stores.final(token, head, {});
    }
  }
}

// Places of one query token lie together; calls with the first and how many there are.
template <class Visit>
void each_token(const std::vector<Place>& places, const Visit& visit) {
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin;
    while (end < places.size() && places[end].token == places[begin].token) ++end;
    visit(places[begin], static_cast<int>(end - begin));
    begin = end;
  }
}

}  // namespace

Setup::Setup(const Problem& p, const Inputs& in, const Contract& c, const ModelOptions& o)
    : problem(p),
      inputs(in),
      contract(c),
      arithmetic(planted_arithmetic(c.arithmetic, o.defect)),
      options(o),
      units(c.arithmetic, o),
      p_format(arithmetic),
      log2_scores(c.arithmetic.lse_in_log2 || c.arithmetic.scaled_q),
      q_scale(planted_scale(p.sm_scale, o.defect) * kLog2e),
      dot_scale(c.arithmetic.scaled_q
                    ? 1.0f
                    : (log2_scores ? q_scale : planted_scale(p.sm_scale, o.defect)) * p.q_scale *
                          p.kv_scale),
      o_scale(p.kv_scale) {}

Result<ModelResult> run_model(const Problem& problem, const Inputs& inputs,
                              const Contract& contract, const ModelOptions& options) {
  const Setup setup(problem, inputs, contract, options);
  ModelResult result;
  Stores stores(setup, result);
  const std::vector<Place> places = places_of(setup);
  const bool merges = options.num_splits > 1;
  const auto run = [&](int, std::size_t i) {
    const Place& place = places[i];
    if (merges && options.right != nullptr && !touches(setup, place)) {
      return stores.copy_partials(place, *options.right);
    }
    const std::vector<RowResult> heads = stage1(setup, place);
    const bool empty = place.tokens.begin == place.tokens.end;
    for (int head = 0; head < problem.h_q; ++head) {
      if (merges) {
        stores.partial(place, head, heads[head]);
      } else if (!empty) {
        stores.final(place.token, head, heads[head]);
      }
    }
  };
  if (!parallel_for(options.threads, places.size(), run)) {
    return Trouble{TroubleKind::kInfra, "no memory to run the kernel model"};
  }
  finish_empty_rows(setup, stores);
  if (!merges) return result;
  each_token(places, [&](const Place& first, int live) {
    if (problem.visible(first.sequence, first.query_token) == 0) return;
    for (int head = 0; head < problem.h_q; ++head) merge_row(setup, first, live, head, stores);
  });
  return result;
}

}  // namespace attest::model
