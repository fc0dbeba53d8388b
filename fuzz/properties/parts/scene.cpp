#include "fuzz/properties/parts/scene.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "harness/core/check.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr std::size_t kRowBytes = kDQk * sizeof(std::uint16_t);

// The logical pages of a scene, equal ones once.
struct Pages {
  std::vector<std::span<const Scene::Row>> contents;
  std::vector<std::vector<std::int32_t>> of_sequence;  // indices into contents
};

Pages pages_of(const Scene& scene) {
  const std::size_t size = scene.problem.page_size;
  Pages pages;
  std::unordered_map<std::string_view, std::int32_t> known;  // by the bytes of the rows' addresses
  for (const auto& tokens : scene.tokens) {
    auto& table = pages.of_sequence.emplace_back();
    for (std::size_t at = 0; at < tokens.size(); at += size) {
      const auto page = std::span{tokens}.subspan(at, std::min(size, tokens.size() - at));
      const std::string_view key{reinterpret_cast<const char*>(page.data()), page.size_bytes()};
      const auto [found, added] =
          known.emplace(key, static_cast<std::int32_t>(pages.contents.size()));
      if (added) pages.contents.push_back(page);
      table.push_back(found->second);
    }
  }
  return pages;
}

std::vector<std::int32_t> shuffled_ids(std::int64_t base, std::size_t count, std::uint64_t seed) {
  std::vector<std::int32_t> ids(count);
  std::iota(ids.begin(), ids.end(), static_cast<std::int32_t>(base));
  const Stream stream{mix64(seed + kGolden)};
  for (std::size_t i = count; i > 1; --i) std::swap(ids[i - 1], ids[stream.bits(i) % i]);
  return ids;
}

void fill_tables(const Problem& p, const Pages& pages, const std::vector<std::int32_t>& ids,
                 Inputs& inputs) {
  inputs.qo_indptr = {0};
  inputs.kv_indptr = {p.kv_indptr_start};
  inputs.kv_indices.assign(p.kv_indptr_start, kHostilePage);
  for (int seq = 0; seq < p.b(); ++seq) {
    for (const std::int32_t page : pages.of_sequence[seq]) inputs.kv_indices.push_back(ids[page]);
    inputs.qo_indptr.push_back(inputs.qo_indptr.back() + p.s_q[seq]);
    inputs.kv_indptr.push_back(static_cast<std::int32_t>(inputs.kv_indices.size()));
    inputs.kv_last_page_len.push_back(p.s_kv[seq] == 0 ? 0 : (p.s_kv[seq] - 1) % p.page_size + 1);
  }
  inputs.kv_indices.insert(inputs.kv_indices.end(), p.kv_indptr_start, kHostilePage);
  inputs.used_pages.assign(ids.begin(), ids.begin() + std::ssize(pages.contents));
  std::sort(inputs.used_pages.begin(), inputs.used_pages.end());
}

void check_shape(const Scene& scene) {
  const Problem& p = scene.problem;
  ATTEST_CHECK(why_invalid(p).empty());
  ATTEST_CHECK(std::ssize(scene.q) == p.rows() && std::ssize(scene.tokens) == p.b());
  for (int seq = 0; seq < p.b(); ++seq) {
    ATTEST_CHECK(std::ssize(scene.tokens[seq]) == p.s_kv[seq]);
  }
}

}  // namespace

Scene::Scene(const Problem& of, const Inputs& inputs) : problem(of), tokens(of.b()) {
  const auto* const pool = inputs.kv.data<std::uint16_t>();
  for (int seq = 0; seq < of.b(); ++seq) {
    for (std::int64_t token = 0; token < of.s_kv[seq]; ++token) {
      const std::int64_t page = inputs.kv_indices[inputs.kv_indptr[seq] + token / of.page_size];
      tokens[seq].push_back(pool + (page * of.page_size + token % of.page_size) * kDQk);
    }
  }
  for (std::int64_t row = 0; row < of.rows(); ++row) {
    q.push_back(inputs.q.data<std::uint16_t>() + row * of.q_stride_h());
  }
  problem.shared_prefix = 0;  // it has said how pages were drawn; equal pages are one page here
}

Scene::Row Scene::made(Row from, const std::function<void(Numbers)>& change) {
  auto& row = made_.emplace_back(from, from + kDQk);
  change(Numbers{row});
  return row.data();
}

void Scene::change_tokens(const std::function<void(Numbers)>& change) {
  std::unordered_map<Row, Row> changed;
  for (auto& rows : tokens) {
    for (Row& row : rows) {
      const auto [found, added] = changed.emplace(row, nullptr);
      if (added) found->second = made(row, change);
      row = found->second;
    }
  }
}

Result<Inputs> place(const Scene& scene, const Placement& placement, std::uint16_t poison) {
  check_shape(scene);
  const Problem& p = scene.problem;
  const Pages pages = pages_of(scene);
  const std::size_t in_pool = pages.contents.size() + placement.extra_pages;
  const auto ids = shuffled_ids(p.page_base, in_pool, placement.seed);
  Inputs inputs;
  fill_tables(p, pages, ids, inputs);
  inputs.num_pages = p.page_base + static_cast<std::int64_t>(in_pool);

  auto q = PoisonedMemory::make(p.total_q() * p.q_stride_t() * sizeof(std::uint16_t), poison);
  if (!q.ok()) return q.trouble();
  inputs.q = std::move(*q);
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    std::memcpy(inputs.q.data<std::uint16_t>() + row * p.q_stride_h(), scene.q[row], kRowBytes);
  }
  auto kv = PoisonedMemory::make(inputs.num_pages * p.page_size * kRowBytes, poison);
  if (!kv.ok()) return kv.trouble();
  inputs.kv = std::move(*kv);
  for (std::size_t page = 0; page < pages.contents.size(); ++page) {
    std::byte* at = inputs.kv.bytes().data() + ids[page] * p.page_size * kRowBytes;
    for (const Scene::Row row : pages.contents[page]) {
      std::memcpy(at, row, kRowBytes);
      at += kRowBytes;
    }
  }
  return inputs;
}

}  // namespace attest
