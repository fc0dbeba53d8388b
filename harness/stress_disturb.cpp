#include "harness/stress_disturb.hpp"

#include <algorithm>
#include <array>

#include "harness/core/code_object_file.hpp"
#include "harness/core/poison.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr std::uint32_t kThreads = 256;  // disturb.hip

// Of a workgroup. CUDA Programming Guide, "Technical Specifications per Compute Capability": 227 KB
// of a Hopper SM's 228; MI300 ISA, 2.1: 64 KiB.
constexpr std::uint32_t kHopperShared = 232448, kAmdLds = 65536;
// Larger than L2: 60 MB of an H200, 4 MB a chiplet of an MI300X before its cache of 256 MB.
constexpr std::size_t kScratchBytes = std::size_t{96} << 20;
// An emulator has no caches to thrash: enough to run the kernels.
constexpr std::size_t kEmulatedScratchBytes = 1 << 16;
constexpr std::uint32_t kEmulatedUnits = 2;

// Every one a NaN of both formats, with a payload of its own.
constexpr std::array<std::uint32_t, 4> kNans = {kPoison32, 0x7fc07fc1, 0xffffffff, 0x7f817f81};

}  // namespace

Disturber::Disturber(Device& device, Seed seed)
    : device_(device), seed_(seed), bench_(device, kPoison16) {
  lds_bytes_ = is_nvidia(device.target()) ? kHopperShared : kAmdLds;
  const auto processors = static_cast<std::uint32_t>(std::max(device.processors(), 1));
  compute_units_ = device.is_emulated() ? kEmulatedUnits : processors;
}

void Disturber::open(const std::string& folder) {
  const auto module =
      device_.load_module(folder + "/" + code_object_file("disturb", device_.target()));
  if (!module.ok()) return bench_.fail(module.trouble());
  for (const auto& [function, symbol] :
       {std::pair{&memory_, "disturb_memory"}, {&lds_, "disturb_lds"}, {&time_, "disturb_time"}}) {
    const auto found = device_.function(*module, symbol);
    if (!found.ok()) return bench_.fail(found.trouble());
    *function = *found;
  }
  bench_.allocate(scratch_, "scratch",
                  device_.is_emulated() ? kEmulatedScratchBytes : kScratchBytes);
}

void Disturber::launch(Function function, const LaunchConfig& config,
                       const KernelArguments& arguments) {
  if (!failed()) bench_.take(device_.launch(function, config, arguments));
}

void Disturber::fill_lds(std::uint64_t bits) {
  const auto words = static_cast<std::int32_t>(lds_bytes_ / 4);
  constexpr std::uint32_t kTicks = 10'000;  // 5 us: until each compute unit has one
  KernelArguments arguments;
  arguments.add(words).add(kNans[bits % kNans.size()]).add(kTicks);
  launch(lds_, {{2 * compute_units_, 1, 1}, {kThreads, 1, 1}, lds_bytes_}, arguments);
}

void Disturber::thrash_memory(std::uint64_t bits) {
  const auto octets = static_cast<std::uint32_t>(scratch_.bytes / 16);
  const std::int32_t rounds = device_.is_emulated() ? 2 : 32;
  KernelArguments arguments;
  arguments.add(scratch_.address).add(octets).add(static_cast<std::uint32_t>(bits)).add(rounds);
  launch(memory_, {{2 * compute_units_, 1, 1}, {kThreads, 1, 1}, 0}, arguments);
}

// Each with all of a unit's LDS, so that no workgroup that needs some starts there.
void Disturber::hold_compute_units(std::uint64_t bits) {
  const auto units = static_cast<std::uint32_t>(1 + bits % compute_units_);
  constexpr std::uint64_t kMostTicks = 200'000;  // 100 us
  const auto ticks = static_cast<std::uint32_t>(1 + (bits >> 16) % kMostTicks);
  KernelArguments arguments;
  arguments.add(static_cast<std::uint32_t>(bits >> 32)).add(ticks);
  launch(time_, {{units, 1, 1}, {kThreads, 1, 1}, lds_bytes_}, arguments);
}

void Disturber::disturb(int launch) {
  const Stream stream = stream_of(seed_, Tensor::kPlan, -2, launch);
  device_.use_stream(1);
  switch (stream.bits(0) % 4) {
    case 0:
      thrash_memory(stream.bits(1));
      break;
    case 1:  // nothing beside it
      break;
    default:
      hold_compute_units(stream.bits(1));
  }
  device_.use_stream(0);
  if (stream.bits(2) % 2 == 0) thrash_memory(stream.bits(3));
  if (stream.bits(4) % 4 != 0) fill_lds(stream.bits(5));
}

}  // namespace attest
