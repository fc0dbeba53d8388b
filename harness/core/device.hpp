// Device: where kernels run. A kernel is a code object plus a launcher; every device loads modules,
// allocates buffers that know their exact bounds, launches, and captures and replays graphs.
// Addresses are device addresses.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/arith.hpp"
#include "harness/core/case.hpp"
#include "harness/core/check_report.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
};

struct LaunchConfig {
  Dim3 grid;   // workgroups
  Dim3 block;  // threads
  std::uint32_t dynamic_lds_bytes = 0;
};

// Explicit kernel arguments, each at its natural alignment, as HIP and CUDA lay them out.
class KernelArguments {
 public:
  template <class T>
  KernelArguments& add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = (bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T);
    bytes_.resize(at + sizeof(T));
    std::memcpy(bytes_.data() + at, &value, sizeof(T));
    offsets_.push_back(at);
    return *this;
  }
  // One argument of any size at the byte that a code object's metadata names, behind those before
  // it.
  KernelArguments& add_at(std::size_t at, std::span<const std::byte> argument) {
    bytes_.resize(at + argument.size());
    if (!argument.empty()) std::memcpy(bytes_.data() + at, argument.data(), argument.size());
    offsets_.push_back(at);
    return *this;
  }
  // The whole segment as the launcher laid it out, for code objects whose metadata does not
  // describe their arguments.
  static KernelArguments segment(std::span<const std::byte> bytes) {
    KernelArguments arguments;
    arguments.add_at(0, bytes);
    arguments.is_segment_ = true;
    return arguments;
  }
  bool is_segment() const { return is_segment_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const std::size_t> offsets() const { return offsets_; }  // of each argument

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::size_t> offsets_;
  bool is_segment_ = false;
};

struct Buffer {
  std::uint64_t address = 0;  // 256-byte aligned; 16 before a guard page
  std::size_t bytes = 0;      // exact size; guard zones lie outside
};

// Bytes [begin, end) of a buffer.
struct Extent {
  std::size_t begin = 0, end = 0;
  bool operator==(const Extent&) const = default;
};

// Which side of a buffer touches an unmapped page, so that a wild access faults; kNone: guard zones
// alone, which show what was written.
enum class GuardPage { kNone, kAfter, kBefore };

// What a launch may do to a buffer: the checks of a device that has them go by it.
struct BufferUse {
  bool read_only = false;
  bool unwritten = false;       // what it holds counts as written by nobody
  std::vector<Extent> extents;  // the tensor's own bytes, sorted, disjoint; none: the whole buffer
};

struct Module {
  int id = -1;
};
struct Function {
  int id = -1;
};
struct Graph {
  int id = -1;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;    // "emu:gfx942"
  virtual std::string target() const = 0;  // "gfx942": which build of a code object it takes
  // Compute units, or multiprocessors: how many workgroups run beside each other at least; 0: not
  // known.
  virtual int processors() const { return 0; }
  virtual std::string description() const { return name(); }  // the hardware: "NVIDIA H200"
  virtual bool is_emulated() const {
    return true;
  }  // else checks, arithmetic and schedules have no effect
  virtual MatrixUnit matrix_unit()
      const = 0;  // how it sums products: part of the bound of whatever runs on it

  virtual Result<Module> load_module(const std::string& path) = 0;
  virtual Result<Function> function(Module module, const std::string& symbol) = 0;

  // The buffer is filled with `fill` (repeated 16-bit pattern), as are guard zones on both sides of
  // it. `label` names it in reports of bad accesses.
  virtual Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                                  std::uint16_t fill) = 0;
  virtual void release(const Buffer& buffer) = 0;
  virtual void release_all() = 0;
  virtual Outcome write(const Buffer& buffer, std::size_t offset,
                        std::span<const std::byte> from) = 0;
  virtual Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) = 0;
  // Empty when both guard zones still hold their pattern; else which side and byte changed.
  virtual std::string guard_damage(const Buffer& buffer) = 0;

  // Launches are ordered. Between begin_capture and end_capture they are recorded, not run, with
  // their arguments frozen.
  virtual Outcome launch(Function function, const LaunchConfig& config,
                         const KernelArguments& arguments) = 0;
  virtual Outcome
  synchronize() = 0;  // Trouble kCrashed or kHung when a launch since the last call failed
  virtual Outcome begin_capture() = 0;
  virtual Result<Graph> end_capture() = 0;
  virtual Outcome replay(Graph graph) = 0;
  // Later launches, captures and replays go to stream `index` (0, 1, ..), each ordered in itself;
  // synchronize() waits for all of them. A device without streams runs everything in order.
  virtual void use_stream(int /*index*/) {}
  // Milliseconds that the device took for what `work` launches on the current stream; nothing else
  // may be in flight.
  virtual Result<double> time_ms(const std::function<Outcome()>& work);

  // The next launches' use of a buffer, in place of an earlier one. No effect on a device without
  // checks.
  virtual void describe(const Buffer& /*buffer*/, const BufferUse& /*use*/) {}
  // What the checks found since the last call.
  virtual std::vector<CheckReport> take_reports() { return {}; }

  virtual void set_arith(Arith /*arith*/) {
  }  // of the next launches, and of matrix_unit(); no effect on hardware
  virtual void set_schedule(Schedule schedule) = 0;  // no effect where the device cannot choose
  // The most workgroups that a launch had since the last call; 0 where the device does not say.
  virtual std::uint64_t take_largest_grid() { return 0; }
};

}  // namespace attest
