// Inputs: the stored bits of one case on the host, in memory whose unused parts hold poison.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/core/elements.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

// Memory filled with a repeated 16-bit pattern. Above kLazyBytes it is lazy: one page of the
// pattern, mapped copy on write again and again, so that a sparse pool of many GiB costs only what
// is written to it.
class PoisonedMemory {
 public:
  static constexpr std::size_t kLazyBytes = std::size_t{1} << 30;

  // Trouble kInfra when the machine has no memory for it, or something else lies at the address
  // `at` (of a page) that was asked for; 0: any.
  static Result<PoisonedMemory> make(std::size_t bytes, std::uint16_t fill, std::uintptr_t at = 0);

  PoisonedMemory() = default;
  PoisonedMemory(PoisonedMemory&& other) noexcept;
  PoisonedMemory& operator=(PoisonedMemory&& other) noexcept;
  ~PoisonedMemory();

  std::size_t size() const { return bytes_; }
  std::span<std::byte> bytes() { return {static_cast<std::byte*>(address_), bytes_}; }
  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(address_), bytes_};
  }
  template <class T>
  T* data() {
    return static_cast<T*>(address_);
  }
  template <class T>
  const T* data() const {
    return static_cast<const T*>(address_);
  }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0, mapped_bytes_ = 0;
};

struct Inputs {
  PoisonedMemory q;   // [total_q, h_q, 576] at the problem's strides; pads are poisoned
  PoisonedMemory kv;  // [num_pages, page_size, 576]; what no sequence uses is poisoned
  Storage q_type = Storage::kBf16, kv_type = Storage::kBf16;
  std::vector<float> q_scale, kv_scale;  // [1] the descale factor of an fp8 tensor; else empty
  std::int64_t num_pages = 0;
  std::vector<std::int32_t> qo_indptr;         // [b + 1] query tokens
  std::vector<std::int32_t> kv_indptr;         // [b + 1] entries of kv_indices
  std::vector<std::int32_t> kv_indices;        // physical page ids
  std::vector<std::int32_t> kv_last_page_len;  // [b] 1..page_size; 0 where s_kv is 0
  std::vector<std::int32_t> used_pages;  // physical ids that any sequence uses, sorted, once each

  Elements q_elements() const { return {q.data<std::byte>(), q_type}; }
  Elements kv_elements() const { return {kv.data<std::byte>(), kv_type}; }
};

// Makes q, for so many query tokens, and kv, of so many pages, as the problem stores them: all
// poison. Trouble kInfra when the machine has no memory for it.
Outcome make_rows(const Problem& problem, std::int64_t query_tokens, std::int64_t num_pages,
                  std::uint16_t poison, Inputs& inputs);

}  // namespace attest
