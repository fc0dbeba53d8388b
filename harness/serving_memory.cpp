#include "harness/serving_memory.hpp"

#include <algorithm>

#include "harness/core/poison.hpp"
#include "harness/core/random.hpp"
#include "harness/generate.hpp"

namespace attest {
namespace {

constexpr int kSparePages = 2;  // that no request ever has: a wrong id finds poison

// The largest of each over the launches of a trajectory.
struct Capacity {
  int rows = 0, query_tokens = 0;
  std::int64_t entries = 0;  // of kv_indices
  int pages = 0;
};

void widen(Capacity& capacity, const Problem& p) {
  std::int64_t entries = 0;
  for (int seq = 0; seq < p.b(); ++seq) entries += p.pages_of(seq);
  capacity.rows = std::max(capacity.rows, p.b());
  capacity.query_tokens = std::max(capacity.query_tokens, p.total_q());
  capacity.entries = std::max(capacity.entries, entries);
}

Capacity capacity_of(const Case& c, const std::vector<Move>& moves) {
  Capacity capacity;
  ServingBatch batch(c.problem);
  widen(capacity, c.problem);
  for (const Move& move : moves) {
    batch.apply(move.step);
    if (move.step.verb == Verb::kReplay) widen(capacity, batch.replayed_problem());
    if (move.step.verb == Verb::kLaunch || move.step.verb == Verb::kCapture) {
      widen(capacity, batch.problem());
    }
  }
  capacity.pages = batch.pool_pages();
  return capacity;
}

Seed seed_of(Seed seed, int request, int step) {
  return {stream_of(seed, Tensor::kPlan, request, step).bits(0)};
}

}  // namespace

Result<ServingMemory> ServingMemory::make(const Case& c, const std::vector<Move>& moves) {
  const Problem& p = c.problem;
  const Capacity capacity = capacity_of(c, moves);
  ServingMemory memory;
  memory.case_ = c;
  memory.physical_ = place_pages(p.page_order, 0, capacity.pages, kSparePages, c.seed);
  Inputs& inputs = memory.inputs_;
  const Outcome made =
      make_rows(p, capacity.query_tokens, capacity.pages + kSparePages, kPoison16, inputs);
  if (!made.ok()) return made.trouble();
  inputs.qo_indptr.assign(capacity.rows + 1, kHostilePage);
  inputs.kv_indptr.assign(capacity.rows + 1, kHostilePage);
  inputs.kv_last_page_len.assign(capacity.rows, kHostilePage);
  inputs.kv_indices.assign(p.kv_indptr_start + capacity.entries + p.kv_indptr_start, kHostilePage);
  inputs.used_pages = memory.physical_;
  std::sort(inputs.used_pages.begin(), inputs.used_pages.end());
  return memory;
}

std::unique_ptr<const Sampler> ServingMemory::sampler_of(const Kernel& kernel,
                                                         const Request& request,
                                                         const Problem& problem, Seed seed) const {
  Problem alone = problem;
  alone.s_kv = {request.s_kv};
  alone.s_q = {request.s_q};
  return find_distribution(case_.distribution)->prepare(alone, walk_of(kernel, problem), seed);
}

void ServingMemory::write_new_tokens(const Kernel& kernel, const ServingBatch& batch) {
  const int page_size = case_.problem.page_size;
  for (std::size_t i = 0; i < batch.requests().size(); ++i) {
    const Request& request = batch.requests()[i];
    if (request.id >= static_cast<int>(written_.size())) written_.resize(request.id + 1);
    int& written = written_[request.id];
    if (written == request.s_kv) continue;
    const auto sampler =
        sampler_of(kernel, request, batch.problem(), seed_of(case_.seed, request.id, 0));
    for (; written < request.s_kv; ++written) {
      const std::int64_t page = physical_[request.pages[written / page_size]];
      const std::int64_t row = page * page_size + written % page_size;
      const Problem& p = case_.problem;
      store_kv(p, *sampler, 0, written,
               inputs_.kv.data<std::byte>() + row * kDQk * bytes_of_element(p.kv_type));
    }
  }
}

void ServingMemory::write_batch(const Kernel& kernel, const ServingBatch& batch, const Problem& p,
                                int step) {
  std::int32_t token = 0, entry = p.kv_indptr_start;
  for (int seq = 0; seq < p.b(); ++seq) {
    const bool padding = seq >= static_cast<int>(batch.requests().size());
    // A padding row's q is a row of somebody's, too.
    const Request request = padding ? Request{-1 - seq, 1, p.s_q[seq], {}} : batch.requests()[seq];
    const auto sampler = sampler_of(kernel, request, p, seed_of(case_.seed, request.id, step + 1));
    inputs_.qo_indptr[seq] = token;
    inputs_.kv_indptr[seq] = entry;
    inputs_.kv_last_page_len[seq] = p.s_kv[seq] == 0 ? 0 : (p.s_kv[seq] - 1) % p.page_size + 1;
    for (const int page : request.pages) inputs_.kv_indices[entry++] = physical_[page];
    for (int i = 0; i < p.s_q[seq]; ++i, ++token) {
      for (int head = 0; head < p.h_q; ++head) {
        const std::int64_t at = token * p.q_stride_t() + head * p.q_stride_h();
        store_q(p, *sampler, 0, i, head,
                inputs_.q.data<std::byte>() + at * bytes_of_element(p.q_type));
      }
    }
  }
  inputs_.qo_indptr[p.b()] = token;
  inputs_.kv_indptr[p.b()] = entry;
}

}  // namespace attest
