#include "harness/verify_property.hpp"

#include <gtest/gtest.h>

#include "fuzz/properties/property.hpp"
#include "harness/fake_device.hpp"

namespace attest {
namespace {

Verdict verified(const std::string& token, Defect defect = Defect::kNone) {
  const auto c = parse_token(token);
  EXPECT_TRUE(c.ok()) << (c.ok() ? "" : c.trouble().text);
  FakeDevice device;
  const Verdict verdict = verify(FakeKernel(defect), device, *c, {"", 2, {}});
  EXPECT_TRUE(device.is_empty());
  return verdict;
}

constexpr const char* kRight[] = {
    "v1:h=1:s=3",
    "v1:h=3:s=1,63,64,65,200,0:page=16:splits=3:dist=needles",
    "v1:h=2:s=150,2,0:q=2,4,1:splits=1:dist=monotone",
    "v1:h=4:s=200,100:page=64:splits=2:start=1:qpad=8:opad=16:dist=uniform_logits",
    "v1:h=2:s=192,130,200:page=64:splits=8:prefix=128",
};

TEST(VerifyProperty, PassesARightKernelOrSaysWhyNot) {
  for (const Property* property : all_properties()) {
    int passed = 0;
    for (const char* token : kRight) {
      const Verdict verdict =
          verified(std::string{token} + ":prop=" + std::string{property->name()});
      if (verdict.status == Status::kSkipped) {
        EXPECT_NE(verdict.reason.find("says nothing of it: "), std::string::npos);
        continue;
      }
      EXPECT_EQ(verdict.status, Status::kPassed)
          << property->name() << " " << token << ": " << verdict.reason;
      EXPECT_GT(verdict.checked, 0);
      ++passed;
    }
    EXPECT_GT(passed, 0) << property->name();
  }
}

}  // namespace
}  // namespace attest
