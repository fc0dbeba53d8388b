#include "harness/execute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>

namespace attest {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span{values});
}

// Bytes [begin, end) of a buffer.
struct Extent {
  std::size_t begin = 0, end = 0;
};

// The used pages of the pool, neighbours joined.
std::vector<Extent> used_extents(const Inputs& inputs, std::size_t page_bytes) {
  std::vector<Extent> extents;
  for (const std::int32_t page : inputs.used_pages) {
    const std::size_t begin = page * page_bytes;
    if (!extents.empty() && extents.back().end == begin) {
      extents.back().end += page_bytes;
    } else {
      extents.push_back({begin, begin + page_bytes});
    }
  }
  return extents;
}

// What of the pool is compared afterwards: all of it, or of a huge one the used pages and both
// ends.
std::vector<Extent> compared_extents(const Inputs& inputs, std::size_t page_bytes) {
  const std::size_t size = inputs.kv.size();
  if (size <= PoisonedMemory::kLazyBytes) return {{0, size}};
  constexpr std::size_t kEnd = std::size_t{1} << 20;
  std::vector<Extent> extents = used_extents(inputs, page_bytes);
  extents.push_back({0, kEnd});
  extents.push_back({size - kEnd, size});
  return extents;
}

// Buffers of one case. The first trouble sticks; later calls do nothing.
class Bench {
 public:
  Bench(Device& device, std::uint16_t poison) : device_(device), poison_(poison) {}
  ~Bench() { device_.release_all(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void allocate(Buffer& buffer, const std::string& label, std::size_t bytes) {
    if (trouble_.text.empty() && bytes > 0) {
      auto made = device_.allocate(label, bytes, poison_);
      if (!made.ok()) return fail(made.trouble());
      buffer = *made;
      buffers_.push_back({label, buffer});
    }
  }
  void upload(Buffer& buffer, const std::string& label, std::span<const std::byte> bytes) {
    allocate(buffer, label, bytes.size());
    write(buffer, 0, bytes);
  }
  void write(const Buffer& buffer, std::size_t offset, std::span<const std::byte> bytes) {
    if (trouble_.text.empty() && !bytes.empty()) take(device_.write(buffer, offset, bytes));
  }
  template <class T>
  void read(const Buffer& buffer, std::vector<T>& to) {
    to.resize(buffer.bytes / sizeof(T));
    if (trouble_.text.empty() && !to.empty()) {
      take(device_.read(buffer, 0, std::as_writable_bytes(std::span{to})));
    }
  }
  void take(const Outcome& outcome) {
    if (!outcome.ok()) fail(outcome.trouble());
  }
  bool failed() const { return !trouble_.text.empty(); }
  const Trouble& trouble() const { return trouble_; }

  std::vector<std::string> guard_damage() {
    std::vector<std::string> damage;
    for (const auto& [label, buffer] : buffers_) {
      const std::string text = device_.guard_damage(buffer);
      if (!text.empty()) damage.push_back(fmt::format("wrote outside {}: {}", label, text));
    }
    return damage;
  }

  // Empty when bytes [extent) of the buffer still equal `expected`, the whole of it.
  std::string change(const Buffer& buffer, const std::string& label, Extent extent,
                     std::span<const std::byte> expected) {
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    chunk_.resize(kChunk);
    for (std::size_t at = extent.begin; at < extent.end && !failed(); at += kChunk) {
      const std::span<std::byte> now = std::span{chunk_}.first(std::min(kChunk, extent.end - at));
      take(device_.read(buffer, at, now));
      const auto before = expected.subspan(at, now.size());
      const auto first = std::mismatch(now.begin(), now.end(), before.begin()).first;
      if (!failed() && first != now.end()) {
        return fmt::format("changed its input {} at byte {}", label, at + (first - now.begin()));
      }
    }
    return {};
  }

 private:
  void fail(const Trouble& trouble) {
    if (trouble_.text.empty()) trouble_ = trouble;
    if (trouble_.text.empty()) trouble_.text = "the device gave no reason";
  }

  Device& device_;
  std::uint16_t poison_;
  Trouble trouble_;
  std::vector<std::pair<std::string, Buffer>> buffers_;
  std::vector<std::byte> chunk_;
};

struct Sizes {
  std::size_t page_bytes, o_bytes, lse_bytes, partial_o_bytes, partial_lse_bytes;
};

Sizes sizes_of(const Problem& p, const Contract& contract, int num_splits) {
  const std::size_t rows = p.rows();
  const std::size_t partials = num_splits > 1 ? rows * num_splits : 0;
  return {.page_bytes = std::size_t{2} * p.page_size * kDQk,
          .o_bytes = static_cast<std::size_t>(p.total_q() * p.o_stride_t() * 2),
          .lse_bytes = rows * 4,
          .partial_o_bytes = partials * kDV * (contract.arithmetic.bf16_partials ? 2 : 4),
          .partial_lse_bytes = partials * 4};
}

void prepare(Bench& bench, const Inputs& inputs, const Sizes& sizes, MlaTensors& t) {
  bench.upload(t.q, "q", inputs.q.bytes());
  bench.allocate(t.kv, "kv", inputs.kv.size());
  for (const Extent& e : used_extents(inputs, sizes.page_bytes)) {
    bench.write(t.kv, e.begin, inputs.kv.bytes().subspan(e.begin, e.end - e.begin));
  }
  bench.upload(t.qo_indptr, "qo_indptr", bytes_of(inputs.qo_indptr));
  bench.upload(t.kv_indptr, "kv_indptr", bytes_of(inputs.kv_indptr));
  bench.upload(t.kv_indices, "kv_indices", bytes_of(inputs.kv_indices));
  bench.upload(t.kv_last_page_len, "kv_last_page_len", bytes_of(inputs.kv_last_page_len));
  bench.allocate(t.o, "o", sizes.o_bytes);
  bench.allocate(t.lse, "lse", sizes.lse_bytes);
  bench.allocate(t.partial_o, "partial_o", sizes.partial_o_bytes);
  bench.allocate(t.partial_lse, "partial_lse", sizes.partial_lse_bytes);
}

void find_changed_inputs(Bench& bench, const Inputs& inputs, const Sizes& sizes,
                         const MlaTensors& t, std::vector<std::string>& damage) {
  const auto compare = [&](const Buffer& buffer, const char* label, Extent extent,
                           std::span<const std::byte> expected) {
    if (auto text = bench.change(buffer, label, extent, expected); !text.empty())
      damage.push_back(text);
    return !damage.empty();
  };
  const auto whole = [&](const Buffer& buffer, const char* label,
                         std::span<const std::byte> expected) {
    compare(buffer, label, {0, expected.size()}, expected);
  };
  whole(t.q, "q", inputs.q.bytes());
  whole(t.qo_indptr, "qo_indptr", bytes_of(inputs.qo_indptr));
  whole(t.kv_indptr, "kv_indptr", bytes_of(inputs.kv_indptr));
  whole(t.kv_indices, "kv_indices", bytes_of(inputs.kv_indices));
  whole(t.kv_last_page_len, "kv_last_page_len", bytes_of(inputs.kv_last_page_len));
  for (const Extent& extent : compared_extents(inputs, sizes.page_bytes)) {
    if (compare(t.kv, "kv", extent, inputs.kv.bytes())) break;
  }
}

// Takes the pads out of o; a pad that lost its poison is damage.
std::vector<std::uint16_t> without_pads(const Problem& p, const std::vector<std::uint16_t>& strided,
                                        std::uint16_t poison, std::vector<std::string>& damage) {
  std::vector<std::uint16_t> o;
  o.reserve(p.rows() * kDV);
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const auto begin = strided.begin() + row * p.o_stride_h();
    o.insert(o.end(), begin, begin + kDV);
    const auto pad_end = begin + p.o_stride_h();
    const auto written = std::find_if(begin + kDV, pad_end, [=](auto x) { return x != poison; });
    if (written != pad_end && damage.empty()) {
      damage.push_back(
          fmt::format("wrote into the pad of o behind query token {}, head {}, at column {}",
                      row / p.h_q, row % p.h_q, written - begin));
    }
  }
  return o;
}

void read_partial_o(Bench& bench, const Buffer& buffer, bool bf16, std::vector<std::uint32_t>& to) {
  if (!bf16) return bench.read(buffer, to);
  std::vector<std::uint16_t> halves;
  bench.read(buffer, halves);
  to.assign(halves.begin(), halves.end());
}

Output collect(Bench& bench, const Kernel& kernel, const Problem& p, const Inputs& inputs,
               const Sizes& sizes, const MlaTensors& t, std::uint16_t poison) {
  Output output;
  std::vector<std::uint16_t> strided;
  bench.read(t.o, strided);
  output.damage = bench.guard_damage();
  output.o = without_pads(p, strided, poison, output.damage);
  bench.read(t.lse, output.lse);
  read_partial_o(bench, t.partial_o, kernel.contract(p).arithmetic.bf16_partials, output.partial_o);
  bench.read(t.partial_lse, output.partial_lse);
  find_changed_inputs(bench, inputs, sizes, t, output.damage);
  return output;
}

}  // namespace

Result<Output> execute(const Kernel& kernel, Device& device, const std::string& code_objects,
                       const Case& c, const Inputs& inputs, std::uint16_t poison) {
  const auto module = device.load_module(code_objects + "/" + kernel.code_object(device.target()));
  if (!module.ok()) return module.trouble();
  Bench bench(device, poison);
  MlaTensors tensors;
  const Sizes sizes = sizes_of(c.problem, kernel.contract(c.problem), kernel.num_splits(c.problem));
  prepare(bench, inputs, sizes, tensors);
  if (bench.failed()) return bench.trouble();

  device.set_schedule(c.schedule);
  const auto begin = std::chrono::steady_clock::now();
  bench.take(kernel.launch(device, *module, c.problem, tensors));
  bench.take(device.synchronize());
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  if (bench.failed()) return bench.trouble();

  Output output = collect(bench, kernel, c.problem, inputs, sizes, tensors, poison);
  output.kernel_ms = elapsed.count();
  if (bench.failed()) return bench.trouble();
  return output;
}

}  // namespace attest
