// RecordingDevice: passes every call on to another device, and keeps what a program needs to do the
// same again: memory, bytes, launches with their arguments, captures, replays, and what was read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/device.hpp"

namespace attest {

struct RecordedBuffer {
  std::string label;
  std::size_t bytes = 0;
  std::uint16_t fill = 0;
};

struct RecordedFunction {
  std::string code_object;  // path
  std::string symbol;
};

// An 8-byte word of a launch's arguments that is the address of a byte of a buffer.
struct RecordedPointer {
  std::size_t at = 0;  // byte of the arguments
  int buffer = -1;     // of Record::buffers
  std::size_t offset = 0;
};

struct RecordedAllocate {
  int buffer = -1;
};
struct RecordedRelease {
  int buffer = -1;
};
struct RecordedWrite {
  int buffer = -1;
  std::size_t offset = 0;
  std::vector<std::byte> bytes;
};
struct RecordedLaunch {
  int function = -1;  // of Record::functions
  LaunchConfig config;
  std::vector<std::byte> arguments;
  std::vector<std::size_t> offsets;  // of each argument
  std::vector<RecordedPointer> pointers;
};
struct RecordedSynchronize {
  bool failed = false;
};
struct RecordedBeginCapture {};
struct RecordedEndCapture {
  int graph = -1;
};
struct RecordedReplay {
  int graph = -1;
};
struct RecordedSchedule {
  Schedule schedule;
};
struct RecordedRead {
  int buffer = -1;
  std::size_t offset = 0, size = 0;
  std::vector<std::byte> bytes;  // empty when they are what the host left there
};
struct RecordedGuardDamage {
  int buffer = -1;
  std::string text;
};

using RecordedEvent =
    std::variant<RecordedAllocate, RecordedRelease, RecordedWrite, RecordedLaunch,
                 RecordedSynchronize, RecordedBeginCapture, RecordedEndCapture, RecordedReplay,
                 RecordedSchedule, RecordedRead, RecordedGuardDamage>;

struct Record {
  std::vector<RecordedBuffer> buffers;
  std::vector<RecordedFunction> functions;
  std::vector<RecordedEvent> events;

  // What the host left in a part of a buffer by its fill and its writes before event `before`.
  std::vector<std::byte> written(int buffer, std::size_t offset, std::size_t bytes,
                                 std::size_t before) const;
  // The read of that buffer which a launch was judged by: of events [begin, end), the first one
  // after the last synchronize.
  std::optional<std::size_t> judged_read(std::string_view label, std::size_t begin,
                                         std::size_t end) const;
};

class RecordingDevice final : public Device {
 public:
  explicit RecordingDevice(Device& inner) : inner_(inner) {}
  const Record& record() const { return record_; }

  std::string name() const override { return inner_.name(); }
  std::string target() const override { return inner_.target(); }
  std::string description() const override { return inner_.description(); }
  bool is_emulated() const override { return inner_.is_emulated(); }
  int processors() const override { return inner_.processors(); }
  MatrixUnit matrix_unit() const override { return inner_.matrix_unit(); }

  Result<Module> load_module(const std::string& path) override;
  Result<Function> function(Module module, const std::string& symbol) override;
  Result<Buffer> allocate(const std::string& label, std::size_t bytes, std::uint16_t fill) override;
  void release(const Buffer& buffer) override;
  void release_all() override;
  Outcome write(const Buffer& buffer, std::size_t offset, std::span<const std::byte> from) override;
  Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) override;
  std::string guard_damage(const Buffer& buffer) override;
  Outcome launch(Function function, const LaunchConfig& config,
                 const KernelArguments& arguments) override;
  Outcome synchronize() override;
  Outcome begin_capture() override;
  Result<Graph> end_capture() override;
  Outcome replay(Graph graph) override;
  // A program has one stream.
  void use_stream(int index) override { inner_.use_stream(index); }
  Result<double> time_ms(const std::function<Outcome()>& work) override {
    return inner_.time_ms(work);
  }
  void describe(const Buffer& buffer, const BufferUse& use) override {
    inner_.describe(buffer, use);
  }
  std::vector<CheckReport> take_reports() override { return inner_.take_reports(); }
  void set_arith(Arith arith) override { inner_.set_arith(arith); }
  void set_schedule(Schedule schedule) override;
  std::uint64_t take_largest_grid() override { return inner_.take_largest_grid(); }

 private:
  struct Live {
    int buffer = -1;
    std::size_t bytes = 0;
  };
  void record_write(int buffer, std::size_t offset, std::span<const std::byte> from);
  std::vector<RecordedPointer> pointers_in(std::span<const std::byte> arguments) const;

  Device& inner_;
  Record record_;
  std::map<int, std::string> module_paths_;  // by Module::id
  std::map<int, int> functions_;             // Function::id -> Record::functions
  std::map<std::uint64_t, Live> live_;       // by address
};

}  // namespace attest
