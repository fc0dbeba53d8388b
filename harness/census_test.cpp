// The census is exact: what the kernel stores is the count over the length, correctly rounded, bit
// for bit. The counts come from the plan of the data, apart from pages, tables and the reference.
#include "fuzz/distributions/census.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/core/formats.hpp"
#include "harness/device/device_list.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

struct Ran {
  Case c;
  Output output;
  Expected expected;
};

Ran run(const std::string& token) {
  const auto c = parse_token(token);
  EXPECT_TRUE(c.ok()) << token;
  const Kernel& kernel = *find_kernel(c->kernel);
  auto device = open_device("emu:gfx942", {.threads = 1});
  EXPECT_TRUE(device.ok());
  const auto inputs = generate(*c, walk_of(kernel, c->problem), 1);
  EXPECT_TRUE(inputs.ok());
  auto output = execute(kernel, **device, ATTEST_CODE_OBJECT_DIR, *c, *inputs);
  EXPECT_TRUE(output.ok()) << token;
  auto oracle = reference(c->problem, *inputs, kernel.contract(c->problem),
                          kernel.num_splits(c->problem), {.detail = Detail::kPlain});
  EXPECT_TRUE(oracle.ok());
  return {*c, *output, oracle->expected};
}

class Census : public testing::TestWithParam<std::string> {};

TEST_P(Census, KernelAndReferenceGiveTheCountOverTheLength) {
  const Ran result = run(GetParam());
  const Problem& p = result.c.problem;
  std::int64_t token = 0, counted = 0;
  for (int seq = 0; seq < p.b(); ++seq) {
    for (int query = 0; query < p.s_q[seq]; ++query, ++token) {
      const int visible = p.visible(seq, query);
      if (visible <= 0) continue;
      const std::vector<int> counts = census_counts(p, result.c.seed, seq, visible);
      for (std::int64_t i = 0; i < std::int64_t{p.h_q} * kDV; ++i) {
        const std::int64_t at = token * p.h_q * kDV + i;
        const int count = counts[i % kDV];
        const double o = static_cast<double>(count) / visible;
        // Source: fp64 sums of at most 20000 terms of 1 / L.
        ASSERT_NEAR(result.expected.o[at], o, 1e-11);
        if (count != 0) {
          ++counted;
          ASSERT_EQ(result.output.o[at], encode_bf16(o))
              << seq << " " << query << " " << i << " " << count;
        } else {
          // Source: splits whose counts cancel are merged with (2 * 16 + 3) roundings of 2^-24 of
          // 128 counts.
          ASSERT_LT(std::abs(decode_bf16(result.output.o[at])) * visible, 0x1p-11)
              << seq << " " << i;
        }
      }
    }
  }
  EXPECT_GT(counted, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Census,
    testing::Values("v1:h=5:s=0,1,63,64,65,128,777:q=3:page=16:splits=2:dist=census",
                    "v1:h=64:s=1000:q=2:splits=1:dist=census:seed=3",
                    "v1:h=2:s=320,321,640:page=64:splits=8:prefix=320:dist=census",
                    "v1:h=1:s=20000:page=64:splits=16:dist=census:seed=2"));

}  // namespace
}  // namespace attest
