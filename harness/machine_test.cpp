#include "harness/machine.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace attest {
namespace {

namespace fs = std::filesystem;

// A machine with 1 GiB available, and the control groups that a test makes.
class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() {
    write("/proc/meminfo", "MemTotal:  9999999 kB\nMemAvailable:    1048576 kB\n");
  }
  ~AvailableMemory() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void group(const std::string& path, const std::string& most, const std::string& taken) {
    write("/sys/fs/cgroup" + path + "/memory.max", most + "\n");
    write("/sys/fs/cgroup" + path + "/memory.current", taken + "\n");
  }
  std::int64_t available() const { return available_memory_bytes(root_); }

  std::string root_ = testing::TempDir() + "machine_test_" + std::to_string(getpid());
};

TEST_F(AvailableMemory, OfAMachineWithoutGroupsIsItsOwn) {
  EXPECT_EQ(available(), 1 << 30);
  write("/proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(available(), 1 << 30);
  group("/a", "max", "5");
  EXPECT_EQ(available(), 1 << 30);
}

TEST_F(AvailableMemory, IsWhatTheTightestGroupLeaves) {
  write("/proc/self/cgroup", "0::/a/b\n");
  group("/a/b", "500000", "100000");
  EXPECT_EQ(available(), 400000);
  group("/a", "300000", "200000");
  EXPECT_EQ(available(), 100000);
  group("", "250000", "200000");
  EXPECT_EQ(available(), 50000);
  group("/a/b/c", "1", "1");  // another's
  EXPECT_EQ(available(), 50000);
}

TEST_F(AvailableMemory, OfAGroupHasTheFilesThatCanBeDropped) {
  write("/proc/self/cgroup", "0::/\n");
  group("", "500000", "450000");
  write("/sys/fs/cgroup/memory.stat", "anon 100000\ninactive_file 300000\nactive_file 50000\n");
  EXPECT_EQ(available(), 350000);
  write("/sys/fs/cgroup/memory.stat", "anon 100000\nactive_file 50000\n");
  EXPECT_EQ(available(), 50000);
}

TEST_F(AvailableMemory, IsNeverLessThanNothing) {
  write("/proc/self/cgroup", "0::/\n");
  group("", "500000", "600000");
  EXPECT_EQ(available(), 0);
}

TEST_F(AvailableMemory, KnowsTheFirstVersionOfGroups) {
  write("/proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/docker/abc\n0::/docker/abc\n");
  // In the container the path of the machine is not there.
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "200000\n");
  write("/sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 50000\n");
  EXPECT_EQ(available(), 550000);
}

TEST_F(AvailableMemory, IsUnknownWhereTheMachineDoesNotSay) {
  fs::remove_all(root_);
  EXPECT_EQ(available(), -1);
}

}  // namespace
}  // namespace attest
