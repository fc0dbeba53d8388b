// What the contract promises bit for bit, on the emulator: which grid order, schedule or number of
// host threads ran a kernel must not show in a single bit of its output.
#include <gtest/gtest.h>

#include "harness/device/device_list.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"

namespace attest {
namespace {

Output run(const std::string& token, int threads = 1) {
  const auto c = parse_token(token);
  EXPECT_TRUE(c.ok()) << token;
  const Kernel& kernel = *find_kernel(c->kernel);
  auto device = open_device("emu:gfx942", {.threads = threads});
  EXPECT_TRUE(device.ok());
  const auto inputs = generate(*c, walk_of(kernel, c->problem), 1);
  EXPECT_TRUE(inputs.ok());
  auto output = execute(kernel, **device, ATTEST_CODE_OBJECT_DIR, *c, *inputs);
  EXPECT_TRUE(output.ok()) << token;
  return *output;
}

void expect_same(const Output& a, const Output& b) {
  EXPECT_EQ(a.o, b.o);
  EXPECT_EQ(a.lse, b.lse);
  EXPECT_EQ(a.partial_o, b.partial_o);
  EXPECT_EQ(a.partial_lse, b.partial_lse);
}

class Bitwise : public testing::TestWithParam<std::string> {};

TEST_P(Bitwise, GridOrdersAgree) {
  expect_same(run(GetParam() + ":grid=split_major"), run(GetParam() + ":grid=split_minor"));
}

TEST_P(Bitwise, SchedulesAgree) {
  const Output in_order = run(GetParam());
  for (const char* seed : {"1", "2", "77"})
    expect_same(in_order, run(GetParam() + ":sched=" + seed));
}

TEST_P(Bitwise, HostThreadsAgree) { expect_same(run(GetParam(), 1), run(GetParam(), 4)); }

TEST_P(Bitwise, AnotherSeedIsSeen) {  // the comparisons above can fail
  EXPECT_NE(run(GetParam()).o, run(GetParam() + ":seed=9").o);
}

INSTANTIATE_TEST_SUITE_P(Cases, Bitwise,
                         testing::Values("v1:h=12:s=700,65,0:q=2:page=16:splits=8",
                                         "v1:h=64:s=400,130:splits=8",
                                         "v1:k=mla_decode_bf16_partials:h=17:s=1000:splits=16",
                                         "v1:h=16:s=300,70:splits=1"));

}  // namespace
}  // namespace attest
