#include "harness/device/gpu/guard_zones.hpp"

#include <algorithm>

#include "harness/device/gpu/launch.hpp"

namespace attest::gpu_driver {
namespace {

GuardFinding find_on_host(const GuardZone& zone, std::span<const std::byte> bytes) {
  for (unsigned distance = 0; distance < zone.bytes; ++distance) {
    const unsigned index = zone.is_before != 0 ? zone.bytes - 1 - distance : distance;
    const unsigned wanted = (index % 2 != 0 ? zone.pattern >> 8 : zone.pattern) & 0xffU;
    const auto value = std::to_integer<unsigned>(bytes[index]);
    if (value != wanted) return {distance, value};
  }
  return {kUnchanged, 0};
}

}  // namespace

GuardZones::~GuardZones() {
  if (!streams_.can_free()) return;
  if (zones_ != 0) static_cast<void>(streams_.run(streams_.driver().release, zones_));
  if (findings_ != 0) static_cast<void>(streams_.run(streams_.driver().release, findings_));
  if (module_ != nullptr) static_cast<void>(streams_.run(streams_.driver().unload_module, module_));
}

Outcome GuardZones::open(const std::string& target) {
  const auto image = guard_image(target);
  if (image.empty()) return Done{};
  const Driver& driver = streams_.driver();
  Outcome o = streams_.run(driver.load_module, &module_, static_cast<const void*>(image.data()));
  if (o.ok()) o = streams_.run(driver.get_function, &kernel_, module_, "attest_check_guard_zones");
  return o;
}

Outcome GuardZones::make_room(std::size_t zones) {
  if (zones <= room_) return Done{};
  const Driver& driver = streams_.driver();
  for (Address* const old : {&zones_, &findings_}) {
    if (*old == 0) continue;
    if (Outcome o = streams_.run(driver.release, *old); !o.ok()) return o;
    *old = 0;
  }
  room_ = std::max<std::size_t>(64, 2 * zones);
  Outcome o = streams_.run(driver.allocate, &zones_, room_ * sizeof(GuardZone));
  if (o.ok()) o = streams_.run(driver.allocate, &findings_, room_ * sizeof(GuardFinding));
  if (!o.ok()) room_ = 0;
  return o;
}

Outcome GuardZones::launch(std::size_t zones) {
  const auto stream = streams_.for_memory();
  if (!stream.ok()) return stream.trouble();
  KernelArguments arguments;
  arguments.add(zones_).add(findings_);
  const LaunchConfig config{{static_cast<std::uint32_t>(zones)}, {kGuardThreads}, 0};
  return streams_.check(streams_.driver().launch.name,
                        launch_kernel(streams_, *stream, kernel_, config, arguments.bytes()));
}

Result<std::vector<GuardFinding>> GuardZones::check(std::span<const GuardZone> zones) {
  std::vector<GuardFinding> findings(zones.size());
  if (zones.empty()) return findings;
  if (kernel_ == nullptr) return check_on_host(zones);
  Outcome o = make_room(zones.size());
  if (o.ok()) o = staging_.write(zones_, std::as_bytes(zones));
  if (o.ok()) o = launch(zones.size());
  if (o.ok()) o = staging_.read(findings_, std::as_writable_bytes(std::span{findings}));
  if (!o.ok()) return o.trouble();
  return findings;
}

Result<std::vector<GuardFinding>> GuardZones::check_on_host(std::span<const GuardZone> zones) {
  std::vector<GuardFinding> findings;
  std::vector<std::byte> bytes;
  for (const GuardZone& zone : zones) {
    bytes.resize(zone.bytes);
    if (const Outcome o = staging_.read(zone.at, bytes); !o.ok()) return o.trouble();
    findings.push_back(find_on_host(zone, bytes));
  }
  return findings;
}

}  // namespace attest::gpu_driver
