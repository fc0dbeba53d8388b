#include "harness/generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "harness/core/check.hpp"
#include "harness/core/parallel.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

// A page of the cache by what it holds: page `page` of the tokens of `owner`.
struct Content {
  int owner = 0;
  std::int64_t page = 0;
};

// The pages that hold something: the shared prefix's, then each sequence's own.
std::vector<Content> contents_of(const Problem& p) {
  const std::int64_t shared = p.shared_prefix / p.page_size;
  std::vector<Content> contents;
  for (std::int64_t page = 0; page < shared; ++page) contents.push_back({kPrefixOwner, page});
  for (int seq = 0; seq < p.b(); ++seq) {
    for (std::int64_t page = shared; page < p.pages_of(seq); ++page)
      contents.push_back({seq, page});
  }
  return contents;
}

// Pages of the pool that no sequence uses, among or after the used ones: a wrong id finds poison.
std::int64_t spare_pages(std::size_t contents) {
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(contents) / 16, 2, 64);
}

void fill_tables(const Problem& p, const std::vector<std::int32_t>& ids, Inputs& inputs) {
  const std::int64_t shared = p.shared_prefix / p.page_size;
  std::int64_t next_own = shared;
  inputs.qo_indptr = {0};
  inputs.kv_indptr = {p.kv_indptr_start};
  inputs.kv_indices.assign(p.kv_indptr_start, kHostilePage);
  for (int seq = 0; seq < p.b(); ++seq) {
    const std::int64_t own = p.pages_of(seq) - shared;
    auto& table = inputs.kv_indices;
    table.insert(table.end(), ids.begin(), ids.begin() + shared);
    table.insert(table.end(), ids.begin() + next_own, ids.begin() + next_own + own);
    next_own += own;
    inputs.qo_indptr.push_back(inputs.qo_indptr.back() + p.s_q[seq]);
    inputs.kv_indptr.push_back(static_cast<std::int32_t>(table.size()));
    inputs.kv_last_page_len.push_back(p.s_kv[seq] == 0 ? 0 : (p.s_kv[seq] - 1) % p.page_size + 1);
  }
  // As much slack behind as in front; where there is none, the table ends with its last entry.
  inputs.kv_indices.insert(inputs.kv_indices.end(), p.kv_indptr_start, kHostilePage);
  inputs.used_pages = ids;
  std::sort(inputs.used_pages.begin(), inputs.used_pages.end());
}

constexpr std::size_t kRowsAtOnce = 256;  // that a thread takes: a row alone is too little work

[[nodiscard]] bool fill_q(const Problem& p, const Sampler& sampler, int threads, Inputs& inputs) {
  std::vector<std::pair<int, int>> tokens;  // (sequence, query token)
  for (int seq = 0; seq < p.b(); ++seq) {
    for (int i = 0; i < p.s_q[seq]; ++i) tokens.emplace_back(seq, i);
  }
  const auto fill_row = [&](int, std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t token = row / p.h_q, head = row % p.h_q;
    std::byte* const at =
        inputs.q.data<std::byte>() +
        (token * p.q_stride_t() + head * p.q_stride_h()) * bytes_of_element(p.q_type);
    store_q(p, sampler, tokens[token].first, tokens[token].second, static_cast<int>(head), at);
  };
  return parallel_for(threads, static_cast<std::size_t>(p.rows()), fill_row, kRowsAtOnce);
}

// Tokens past a sequence's end, in its last page, stay poisoned.
void fill_page(const Problem& p, const Sampler& sampler, Content content, std::byte* page) {
  const int end = content.owner == kPrefixOwner ? p.shared_prefix : p.s_kv[content.owner];
  const int first = static_cast<int>(content.page * p.page_size);
  for (int token = first; token < std::min(end, first + p.page_size); ++token) {
    store_kv(p, sampler, content.owner, token,
             page + (token - first) * kDQk * bytes_of_element(p.kv_type));
  }
}

}  // namespace

namespace {

// Rows of bf16 are drawn in place.
template <class Draw>
void store_row(Storage storage, float descale, std::byte* to, const Draw& draw) {
  if (storage == Storage::kBf16) {
    draw(std::span{reinterpret_cast<std::uint16_t*>(to), kDQk});
    return;
  }
  std::array<std::uint16_t, kDQk> drawn;
  draw(std::span<std::uint16_t>{drawn});
  store_elements(drawn.data(), kDQk, storage, descale, to);
}

}  // namespace

void store_q(const Problem& p, const Sampler& sampler, int sequence, int token, int head,
             std::byte* to) {
  store_row(p.q_type, p.q_scale, to,
            [&](std::span<std::uint16_t> row) { sampler.fill_q(sequence, token, head, row); });
}

void store_kv(const Problem& p, const Sampler& sampler, int owner, int token, std::byte* to) {
  store_row(p.kv_type, p.kv_scale, to,
            [&](std::span<std::uint16_t> row) { sampler.fill_kv(owner, token, row); });
}

std::vector<std::int32_t> place_pages(PageOrder order, std::int64_t base, std::size_t pages,
                                      std::size_t spare, Seed seed) {
  std::vector<std::int32_t> ids(pages + spare);
  std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(base));
  if (order == PageOrder::kShuffled) {  // Fisher-Yates
    const Stream stream = stream_of(seed, Tensor::kPages);
    for (std::size_t i = ids.size() - 1; i > 0; --i)
      std::swap(ids[i], ids[stream.bits(i) % (i + 1)]);
  }
  if (order == PageOrder::kReversed) std::reverse(ids.begin(), ids.end());
  ids.resize(pages);
  return ids;
}

Walk walk_of(const Kernel& kernel, const Problem& problem) {
  return {kernel.contract(problem).split_rule, kernel.num_splits(problem),
          kernel.contract(problem).arithmetic.tile_tokens};
}

Result<Inputs> generate(const Case& c, const Walk& walk, int threads, std::uint16_t poison) {
  const Problem& p = c.problem;
  ATTEST_CHECK(why_invalid(p).empty());
  const Distribution* const distribution = find_distribution(c.distribution);
  if (distribution == nullptr) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("there is no distribution '{}'", c.distribution)};
  }
  const std::vector<Content> contents = contents_of(p);
  const std::vector<std::int32_t> ids =
      place_pages(p.page_order, p.page_base, contents.size(), spare_pages(contents.size()), c.seed);

  Inputs inputs;
  fill_tables(p, ids, inputs);
  const std::int64_t num_pages =
      p.page_base + static_cast<std::int64_t>(contents.size()) + spare_pages(contents.size());
  const Outcome made = make_rows(p, p.total_q(), num_pages, poison, inputs);
  if (!made.ok()) return made.trouble();

  const auto sampler = distribution->prepare(p, walk, c.seed);
  std::byte* const pool = inputs.kv.data<std::byte>();
  const std::int64_t page_bytes = std::int64_t{p.page_size} * kDQk * bytes_of_element(p.kv_type);
  const auto fill = [&](int, std::size_t i) {
    fill_page(p, *sampler, contents[i], pool + ids[i] * page_bytes);
  };
  if (!fill_q(p, *sampler, threads, inputs) ||
      !parallel_for(threads, contents.size(), fill, kRowsAtOnce)) {
    return Trouble{TroubleKind::kInfra, "no memory to generate the inputs"};
  }
  return inputs;
}

}  // namespace attest
