#include "harness/device/device_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace attest {
namespace {

TEST(DeviceList, TheEmulatorIsAlwaysThereAndTheDefault) {
  const auto devices = list_devices();
  for (const std::string name : {"emu:gfx942", "emu:gfx90a"}) {
    const auto found = std::ranges::find(devices, name, &DeviceInfo::name);
    ASSERT_NE(found, devices.end());
    EXPECT_TRUE(found->available);
    EXPECT_TRUE(found->how_to_get.empty());
    auto device = open_device(name, {});
    ASSERT_TRUE(device.ok());
    EXPECT_EQ((*device)->name(), name);
    EXPECT_EQ((*device)->target(), name.substr(4));
  }
  EXPECT_EQ(kDefaultDevice, "emu:gfx942");
}

TEST(DeviceList, EachListedDeviceOpensOrSaysWhatIsMissing) {
  for (const DeviceInfo& info : list_devices()) {
    EXPECT_FALSE(info.description.empty()) << info.name;
    EXPECT_EQ(info.available, info.how_to_get.empty()) << info.name;
    const auto device = open_device(info.name, {});
    EXPECT_EQ(device.ok(), info.available) << info.name;
    if (device.ok()) continue;
    EXPECT_EQ(device.trouble().kind, TroubleKind::kInfra);
    EXPECT_NE(device.trouble().text.find("device " + info.name), std::string::npos);
    EXPECT_NE(device.trouble().text.find(info.how_to_get), std::string::npos);
  }
}

TEST(DeviceList, AGpuThatIsNotThereNamesTheLibraryItNeeds) {
  for (const auto& [name, library] :
       {std::pair{"hip:0", "libamdhip64.so"}, std::pair{"cuda:0", "libcuda.so.1"}}) {
    const auto device = open_device(name, {});
    if (device.ok()) continue;  // a version of attest that has it
    const std::string& text = device.trouble().text;
    EXPECT_TRUE(text.find(library) != text.npos || text.find("no device for it yet") != text.npos)
        << text;
  }
}

TEST(DeviceList, AnUnknownDeviceIsRefusedWithTheOnesThatAreHere) {
  std::string here;
  for (const DeviceInfo& info : list_devices()) {
    if (info.available) here += " " + info.name;
  }
  EXPECT_TRUE(here.starts_with(" emu:gfx942 emu:gfx90a")) << here;
  for (const std::string name : {"", "emu", "emu:", "emu:gfx1100", "EMU:gfx942", "hip", "gpu"}) {
    const auto device = open_device(name, {});
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.trouble().kind, TroubleKind::kInfra);
    EXPECT_EQ(device.trouble().text, "device " + name + ": no such device; here are:" + here);
  }
}

}  // namespace
}  // namespace attest
