#include "harness/bench_kernels_sets.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "harness/bench_kernels_instruments.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"
#include "harness/generate.hpp"

namespace attest {
namespace {

constexpr std::size_t kAlignment = 256;  // of a buffer: harness/core/device.hpp
constexpr std::uint64_t kSeedOfKv = 1, kSeedOfQ = 2;
constexpr Seed kSeedOfPages{3};

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::int64_t pages_of_set(const Problem& p) { return p.b() * p.pages_of(0); }
std::size_t page_bytes_of(const Problem& p) { return std::size_t{2} * p.page_size * kDQk; }

}  // namespace

std::int64_t InputSets::bytes_of_set(const Problem& p) {
  return p.total_kv() * kDQk * 2 + p.rows() * (kDQk * 2 + kDV * 2 + 4);
}

InputSets::InputSets(Bench& bench, Device& device, const std::string& code_objects,
                     const Kernel& kernel, const Problem& problem, int sets)
    : bench_(bench),
      device_(device),
      problem_(problem),
      sets_(sets),
      sizes_(output_sizes(kernel, problem)),
      pages_(place_pages(PageOrder::kShuffled, 0,
                         static_cast<std::size_t>(pages_of_set(problem) * sets), 0, kSeedOfPages)) {
  bench_.allocate(kv_, "kv", pages_.size() * page_bytes_of(problem));
  allocate(q_, "q", static_cast<std::size_t>(problem.total_q() * problem.q_stride_t() * 2));
  allocate(kv_indices_, "kv_indices",
           static_cast<std::size_t>(pages_of_set(problem)) * sizeof(std::int32_t));
  allocate(o_, "o", sizes_.o);
  allocate(lse_, "lse", sizes_.lse);
  bench_.allocate(partial_o_, "partial_o", sizes_.partial_o);
  bench_.allocate(partial_lse_, "partial_lse", sizes_.partial_lse);
  if (!bench_.failed()) write_tables();
  if (!bench_.failed()) bench_.take(fill_on_device(device, code_objects, kv_, kSeedOfKv));
  if (!bench_.failed()) bench_.take(fill_on_device(device, code_objects, q_.whole, kSeedOfQ));
  if (!bench_.failed()) bench_.take(device_.synchronize());
}

void InputSets::allocate(Parts& parts, const std::string& label, std::size_t bytes) {
  parts.bytes = bytes;
  parts.stride = aligned(bytes);
  bench_.allocate(parts.whole, label, parts.stride * static_cast<std::size_t>(sets_));
}

void InputSets::write_tables() {
  const int b = problem_.b();
  const auto pages = static_cast<std::int32_t>(problem_.pages_of(0));
  std::vector<std::int32_t> qo_indptr, kv_indptr;
  for (int seq = 0; seq <= b; ++seq) {
    qo_indptr.push_back(seq);
    kv_indptr.push_back(seq * pages);
  }
  const std::vector<std::int32_t> last(static_cast<std::size_t>(b),
                                       (problem_.s_kv[0] - 1) % problem_.page_size + 1);
  const auto place = [&](Buffer& buffer, const char* label, const std::vector<std::int32_t>& from) {
    bench_.allocate(buffer, label, bytes_of(from).size());
    bench_.write(buffer, 0, bytes_of(from));
  };
  place(qo_indptr_, "qo_indptr", qo_indptr);
  place(kv_indptr_, "kv_indptr", kv_indptr);
  place(kv_last_page_len_, "kv_last_page_len", last);
  for (int set = 0; set < sets_; ++set) {
    bench_.write(kv_indices_.whole, set * kv_indices_.stride, std::as_bytes(this->pages(set)));
  }
}

MlaTensors InputSets::tensors(int set) const {
  MlaTensors t;
  t.q = q_.of(set);
  t.kv = kv_;
  t.qo_indptr = qo_indptr_;
  t.kv_indptr = kv_indptr_;
  t.kv_indices = kv_indices_.of(set);
  t.kv_last_page_len = kv_last_page_len_;
  t.o = o_.of(set);
  t.lse = lse_.of(set);
  t.partial_o = partial_o_;
  t.partial_lse = partial_lse_;
  return t;
}

std::span<const std::int32_t> InputSets::pages(int set) const {
  const auto count = static_cast<std::size_t>(pages_of_set(problem_));
  return std::span{pages_}.subspan(set * count, count);
}

template <class T>
std::vector<T> InputSets::read(const Buffer& whole, std::size_t begin, std::size_t count) {
  std::vector<T> values(count);
  if (!bench_.failed() && count > 0) {
    bench_.take(device_.read(whole, begin * sizeof(T), std::as_writable_bytes(std::span{values})));
  }
  return values;
}

Result<Inputs> InputSets::inputs_of(const Problem& of_one, int set, int sequence) {
  const std::int64_t pages = of_one.pages_of(0);
  Inputs inputs;
  const Outcome made = make_rows(of_one, 1, pages, kPoison16, inputs);
  if (!made.ok()) return made.trouble();
  inputs.qo_indptr = {0, 1};
  inputs.kv_indptr = {0, static_cast<std::int32_t>(pages)};
  inputs.kv_indices.resize(static_cast<std::size_t>(pages));
  std::iota(inputs.kv_indices.begin(), inputs.kv_indices.end(), 0);
  inputs.kv_last_page_len = {(of_one.s_kv[0] - 1) % of_one.page_size + 1};
  inputs.used_pages = inputs.kv_indices;

  const std::size_t q_bytes = inputs.q.size(), page_bytes = page_bytes_of(of_one);
  bench_.take(device_.read(q_.whole, set * q_.stride + sequence * q_bytes, inputs.q.bytes()));
  const auto ids = this->pages(set).subspan(static_cast<std::size_t>(sequence * pages));
  for (std::int64_t page = 0; page < pages && !bench_.failed(); ++page) {
    bench_.take(device_.read(kv_, ids[page] * page_bytes,
                             inputs.kv.bytes().subspan(page * page_bytes, page_bytes)));
  }
  if (bench_.failed()) return bench_.trouble();
  return inputs;
}

Output InputSets::output_of(const Problem& of_one, int num_splits, bool bf16_partials, int set,
                            int sequence) {
  const std::size_t rows = of_one.h_q, seq = sequence;
  Output output;
  output.o = read<std::uint16_t>(o_.whole, set * o_.stride / 2 + seq * rows * kDV, rows * kDV);
  output.lse = read<std::uint32_t>(lse_.whole, set * lse_.stride / 4 + seq * rows, rows);
  if (num_splits == 1) return output;
  const std::size_t partials = rows * num_splits;
  output.partial_lse = read<std::uint32_t>(partial_lse_, seq * partials, partials);
  if (bf16_partials) {
    const auto stored = read<std::uint16_t>(partial_o_, seq * partials * kDV, partials * kDV);
    output.partial_o.assign(stored.begin(), stored.end());
  } else {
    output.partial_o = read<std::uint32_t>(partial_o_, seq * partials * kDV, partials * kDV);
  }
  return output;
}

std::string InputSets::not_finite() {
  for (int set = 0; set < sets_; ++set) {
    const auto o = read<std::uint16_t>(o_.whole, set * o_.stride / 2, o_.bytes / 2);
    const auto lse = read<float>(lse_.whole, set * lse_.stride / 4, lse_.bytes / 4);
    for (std::size_t i = 0; i < o.size(); ++i) {
      if (std::isfinite(decode_bf16(o[i]))) continue;
      return fmt::format("o of set {}, row {}, column {} is {} ({:#06x})", set, i / kDV, i % kDV,
                         decode_bf16(o[i]), o[i]);
    }
    for (std::size_t i = 0; i < lse.size(); ++i) {
      if (std::isfinite(lse[i])) continue;
      return fmt::format("lse of set {}, row {} is {} ({:#010x})", set, i, lse[i],
                         std::bit_cast<std::uint32_t>(lse[i]));
    }
  }
  return {};
}

}  // namespace attest
