#include "harness/device/emulator/launch_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest::emulator {
namespace {

// kernel_code_properties: which user SGPRs are enabled, in this order.
enum Property : u32 {
  kPrivateBuffer = 1,
  kDispatchPtr = 2,
  kQueuePtr = 4,
  kKernargPtr = 8,
  kDispatchId = 16,
  kFlatScratchInit = 32,
  kPrivateSize = 64
};

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t at, T value) {
  if (at + sizeof value <= bytes.size()) std::memcpy(bytes.data() + at, &value, sizeof value);
}

// Code object v5's hidden arguments by their metadata kind; those a kernel without a runtime cannot
// have stay zero.
void put_hidden(std::vector<std::byte>& bytes, const ArgumentInfo& argument,
                const LaunchConfig& config) {
  const u32 grid[3] = {config.grid.x, config.grid.y, config.grid.z},
            block[3] = {config.block.x, config.block.y, config.block.z};
  for (int axis = 0; axis < 3; ++axis) {
    const char letter = static_cast<char>('x' + axis);
    if (argument.value_kind == fmt::format("hidden_block_count_{}", letter))
      put(bytes, argument.offset, grid[axis]);
    if (argument.value_kind == fmt::format("hidden_group_size_{}", letter))
      put(bytes, argument.offset, static_cast<u16>(block[axis]));
    if (argument.value_kind == fmt::format("hidden_remainder_{}", letter))
      put(bytes, argument.offset, u16{0});
    if (argument.value_kind == fmt::format("hidden_global_offset_{}", letter))
      put(bytes, argument.offset, u64{0});
  }
  if (argument.value_kind == "hidden_grid_dims")
    put(bytes, argument.offset,
        static_cast<u16>(grid[2] * block[2] > 1   ? 3
                         : grid[1] * block[1] > 1 ? 2
                                                  : 1));
  if (argument.value_kind == "hidden_shared_base")
    put(bytes, argument.offset, static_cast<u32>(kSharedAperture >> 32));
  if (argument.value_kind == "hidden_private_base")
    put(bytes, argument.offset, static_cast<u32>(kPrivateAperture >> 32));
  if (argument.value_kind == "hidden_dynamic_lds_size")
    put(bytes, argument.offset, config.dynamic_lds_bytes);
}

std::vector<std::byte> dispatch_packet(const KernelInfo& kernel, const LaunchConfig& config) {
  std::vector<std::byte> packet(64);
  put(packet, 2, u16{3});
  put(packet, 4, static_cast<u16>(config.block.x));
  put(packet, 6, static_cast<u16>(config.block.y));
  put(packet, 8, static_cast<u16>(config.block.z));
  put(packet, 12, config.grid.x * config.block.x);
  put(packet, 16, config.grid.y * config.block.y);
  put(packet, 20, config.grid.z * config.block.z);
  put(packet, 24, kernel.scratch_bytes);
  put(packet, 28, kernel.lds_bytes + config.dynamic_lds_bytes);
  return packet;
}

void put_user_sgprs(Wave& w, const KernelInfo& kernel, const LaunchState& launch, const Dim3& id) {
  int at = 0;
  const auto pair = [&](u64 value) {
    w.set_s64(at, value);
    at += 2;
  };
  if (kernel.properties & kPrivateBuffer) at += 4;
  if (kernel.properties & kDispatchPtr) pair(reinterpret_cast<u64>(launch.packet.data()));
  if (kernel.properties & kQueuePtr) pair(0);
  if (kernel.properties & kKernargPtr) pair(reinterpret_cast<u64>(launch.kernarg.data()));
  if (kernel.properties & kDispatchId) pair(0);
  if (kernel.properties & kFlatScratchInit) pair(0);
  if (kernel.properties & kPrivateSize) w.s[at++] = kernel.scratch_bytes;
  // Preloaded kernel arguments: length [6:0] and offset [15:7] in dwords.
  for (u32 i = 0; i < (kernel.kernarg_preload & 127u); ++i) {
    std::memcpy(&w.s[at++], launch.kernarg.data() + 4 * ((kernel.kernarg_preload >> 7) + i), 4);
  }
  if (kernel.rsrc2 >> 7 & 1) w.s[at++] = id.x;
  if (kernel.rsrc2 >> 8 & 1) w.s[at++] = id.y;
  if (kernel.rsrc2 >> 9 & 1) w.s[at++] = id.z;
  if (kernel.rsrc2 >> 10 & 1) w.s[at++] = 0;
  if (kernel.rsrc2 & 1) w.s[at++] = 0;
  w.initial_sgprs = at;
}

// Work-item ids, packed 10:10:10 in v0, as gfx90a and later pass them.
void put_ids(Wave& w, const Dim3& block) {
  const u32 total = block.x * block.y * block.z;
  u64 exec = 0;
  for (int l = 0; l < kLanes; ++l) {
    const u32 linear = static_cast<u32>(w.id * kLanes + l);
    if (linear >= total) continue;
    exec |= u64{1} << l;
    w.v[0][l] =
        linear % block.x | (linear / block.x % block.y) << 10 | (linear / block.x / block.y) << 20;
  }
  w.set_s64(kExec, exec);
}

}  // namespace

Result<LaunchState> make_launch_state(const Program& program, const LaunchConfig& config,
                                      std::span<const std::byte> arguments) {
  const KernelInfo& kernel = program.kernel;
  LaunchState launch;
  launch.config = config;
  launch.waves =
      static_cast<int>((config.block.x * config.block.y * config.block.z + kLanes - 1) / kLanes);
  launch.lds_bytes = kernel.lds_bytes + config.dynamic_lds_bytes;
  if (launch.lds_bytes > kMaxLdsBytes)
    return Trouble{TroubleKind::kRefused,
                   fmt::format("kernel {} asks for {} bytes of LDS; a workgroup has {}",
                               kernel.name, launch.lds_bytes, kMaxLdsBytes)};
  if (kernel.scratch_bytes > 0 && kernel.properties & kPrivateBuffer) {
    return Trouble{TroubleKind::kUsage, fmt::format("kernel {} reaches scratch through a buffer "
                                                    "resource, which the emulator does not model",
                                                    kernel.name)};
  }
  launch.kernarg.resize(std::max<std::size_t>(kernel.kernarg_bytes, arguments.size()) + 64);
  std::memcpy(launch.kernarg.data(), arguments.data(), arguments.size());
  for (const ArgumentInfo& argument : kernel.arguments) {
    if (argument.value_kind.starts_with("hidden_")) put_hidden(launch.kernarg, argument, config);
  }
  launch.packet = dispatch_packet(kernel, config);
  return launch;
}

void init_wave(Wave& w, const Program& program, const LaunchState& launch, Workgroup* group,
               int id) {
  // Registers hold what nobody wrote: a NaN that a careless kernel carries into its result.
  std::memset(w.v, 0xff, sizeof w.v);
  std::memset(w.s, 0xff, sizeof w.s);
  w.scc = w.waiting = w.ended = false;
  w.id = id;
  w.program = &program;
  w.group = group;
  w.fault.clear();
  // FP_ROUND and FP_DENORM, then ENABLE_DX10_CLAMP, ENABLE_IEEE_MODE and FP16_OVFL.
  const u32 rsrc1 = program.kernel.rsrc1;
  w.mode = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) * kModeDx10Clamp |
           (rsrc1 >> 23 & 1) * kModeIeee | (rsrc1 >> 26 & 1) * kModeFp16Overflow;
  w.scratch_stride = program.kernel.scratch_bytes;
  w.scratch.resize(std::size_t{w.scratch_stride} * kLanes);
  w.s[kM0] = 0xffffffff;
  put_user_sgprs(w, program.kernel, launch, group->id);
  put_ids(w, launch.config.block);
  // A kernel with preloaded arguments starts after the code that loads them for older firmware.
  const bool preloads = (program.kernel.kernarg_preload & 127) != 0;
  const std::int32_t entry = program.index_of(program.kernel.entry + (preloads ? 256 : 0));
  w.pc = entry < 0 ? static_cast<u32>(program.insts.size() - 1) : static_cast<u32>(entry);
}

}  // namespace attest::emulator
