// Runs the planted kernels of a file that take `const u32* in, u32* out`, each on one wave.
#pragma once
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/checks/planted.hpp"
#include "harness/device/emulator/memory.hpp"

namespace attest::emulator {

class PlantedFile {
 public:
  // `file`: "waits.s"
  explicit PlantedFile(const std::string& file)
      : source_(std::string(ATTEST_PLANTED_SOURCES) + "/" + file) {
    auto object =
        CodeObject::load(std::string(ATTEST_PLANTED_OBJECTS) + "/" + file + ".co", "gfx942");
    EXPECT_TRUE(object.ok()) << object.trouble().text;
    if (object.ok()) object_ = *object;
  }

  // What `checks` find in a kernel. A launch that crashes was watched until then.
  std::vector<CheckReport> reports(const std::string& name, const CheckSet& checks) const {
    for (const KernelInfo& kernel : object_->kernels()) {
      if (kernel.name != name) continue;
      auto program = decode(object_, kernel);
      EXPECT_TRUE(program.ok()) << program.trouble().text;
      return program.ok() ? launch(**program, checks) : std::vector<CheckReport>{};
    }
    ADD_FAILURE() << source_ << " has no kernel " << name;
    return {};
  }

  // Each kernel of the file gives the reports that its comments say, and no others.
  void expect_planted(const CheckSet& checks) const {
    const auto planted = planted_in(source_);
    EXPECT_EQ(planted.size(), object_->kernels().size());
    for (const auto& [name, findings] : planted) {
      const auto all = reports(name, checks);
      EXPECT_EQ(found(all), findings) << name;
      for (const CheckReport& report : all) {
        if (found(all) != findings) ADD_FAILURE() << to_string(report);
      }
    }
  }

 private:
  static std::vector<CheckReport> launch(const Program& program, const CheckSet& checks) {
    constexpr std::size_t kBytes = 4096;
    Monitor monitor(checks);
    Memory memory;
    KernelArguments arguments;
    for (const char* label : {"in", "out"}) {
      const auto buffer = memory.allocate(label, kBytes, 0);
      EXPECT_TRUE(buffer.ok());
      monitor.allocated(*buffer, label);
      const std::vector<std::byte> zeros(kBytes);
      monitor.host_wrote(*buffer, 0, kBytes);
      arguments.add(buffer->address);
    }
    RunOptions options;
    options.monitor = &monitor;
    (void)run(program, memory, LaunchConfig{{1, 1, 1}, {64, 1, 1}, 0}, arguments.bytes(), options);
    return monitor.take_reports();
  }

  std::string source_;
  std::shared_ptr<const CodeObject> object_;
};

}  // namespace attest::emulator
