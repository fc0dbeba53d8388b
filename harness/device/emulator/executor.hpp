// Runs one kernel launch of a code object on the CPU.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "harness/core/arith.hpp"
#include "harness/core/device.hpp"
#include "harness/device/emulator/code_object.hpp"
#include "harness/device/emulator/memory.hpp"

namespace attest::emulator {

class Monitor;
class Program;  // decoded instructions of one kernel

// Decodes the kernel. Trouble kUsage: an instruction without semantics, with its text and source
// line, is reported here when it is undecodable, and when it is reached otherwise.
Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const CodeObject> object,
                                              const KernelInfo& kernel);

struct RunOptions {
  int threads = 0;  // host threads over workgroups; 0: all processors
  Schedule schedule;
  std::uint64_t instruction_budget =
      std::uint64_t{1} << 30;  // wave instructions of one workgroup: a million tokens take 2^27
  Arith arith = Arith::kFma;
  Monitor* monitor = nullptr;  // checks that watch, on one host thread; null: none
};

struct RunStatistics {
  std::uint64_t wave_instructions = 0;
  std::uint64_t workgroups = 0;
};

// `arguments`: the explicit kernel arguments. Implicit (hidden) ones are filled from the metadata.
// Trouble kCrashed (bad access, trap), kHung (budget, deadlocked barrier), kInfra, kUsage (grid the
// kernel cannot take).
Result<RunStatistics> run(const Program& program, Memory& memory, const LaunchConfig& config,
                          std::span<const std::byte> arguments, const RunOptions& options);

// For opcode tests: assembles `text` (LLVM syntax) for `target`, runs it on one wave, stops at its
// end.
struct WaveState {
  std::vector<std::uint32_t> vgpr = std::vector<std::uint32_t>(256 * 64);  // [register * 64 + lane]
  std::vector<std::uint32_t> agpr = std::vector<std::uint32_t>(256 * 64);
  std::array<std::uint32_t, 102> sgpr{};
  std::uint64_t vcc = 0, exec = ~std::uint64_t{0};
  std::uint32_t m0 = 0;
  bool scc = false;
  std::uint32_t mode =
      0xf0;  // hwreg(HW_REG_MODE): FP_ROUND [3:0], FP_DENORM [7:4] (f32 bits 5:4, f64/f16 bits 7:6)
  std::vector<std::byte> lds = std::vector<std::byte>(65536);
  Arith arith = Arith::kFma;
};
Outcome run_snippet(std::string_view text, std::string_view target, Memory& memory,
                    WaveState& state);

// Every mnemonic that the decoder has semantics for, without _e32/_e64/_sdwa/_dpp: the opcode tests
// must cover them all.
std::vector<std::string> implemented_mnemonics();

}  // namespace attest::emulator
