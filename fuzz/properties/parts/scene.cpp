#include "fuzz/properties/parts/scene.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>

#include "harness/core/check.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

// The row at element `first` of a tensor.
Scene::Row row_at(const PoisonedMemory& tensor, Storage storage, std::int64_t first) {
  return reinterpret_cast<Scene::Row>(tensor.data<std::byte>() + first * bytes_of_element(storage));
}

void put_row(Scene::Row row, Storage storage, std::int64_t first, PoisonedMemory& tensor) {
  const std::int64_t bytes = bytes_of_element(storage);
  std::memcpy(tensor.data<std::byte>() + first * bytes, row, kDQk * bytes);
}

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
  for (int seq = 0; seq < of.b(); ++seq) {
    for (std::int64_t token = 0; token < of.s_kv[seq]; ++token) {
      const std::int64_t page = inputs.kv_indices[inputs.kv_indptr[seq] + token / of.page_size];
      const std::int64_t slot = page * of.page_size + token % of.page_size;
      tokens[seq].push_back(row_at(inputs.kv, of.kv_type, slot * kDQk));
    }
  }
  for (std::int64_t row = 0; row < of.rows(); ++row) {
    q.push_back(row_at(inputs.q, of.q_type, row * of.q_stride_h()));
  }
  problem.shared_prefix = 0;  // it has said how pages were drawn; equal pages are one page here
}

Scene::Row Scene::made(Row from, const std::function<void(Numbers)>& change) {
  ATTEST_CHECK(problem.q_type == Storage::kBf16 && problem.kv_type == Storage::kBf16);
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
  const Outcome made =
      make_rows(p, p.total_q(), p.page_base + static_cast<std::int64_t>(in_pool), poison, inputs);
  if (!made.ok()) return made.trouble();
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    put_row(scene.q[row], p.q_type, row * p.q_stride_h(), inputs.q);
  }
  for (std::size_t page = 0; page < pages.contents.size(); ++page) {
    std::int64_t slot = std::int64_t{ids[page]} * p.page_size;
    for (const Scene::Row row : pages.contents[page]) {
      put_row(row, p.kv_type, slot++ * kDQk, inputs.kv);
    }
  }
  return inputs;
}

}  // namespace attest
