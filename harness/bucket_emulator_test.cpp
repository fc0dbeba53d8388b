// The emulator's words for a crash and a hang are what bucket_of() reads.
#include <gtest/gtest.h>

#include "harness/core/kernel.hpp"
#include "harness/device/emulator/emulator_device.hpp"
#include "harness/verify.hpp"

namespace attest {
namespace {

// mla_decode, told that a buffer begins with its own last float.
class Misled : public Kernel {
 public:
  explicit Misled(Buffer MlaTensors::*which) : which_(which) {}
  std::string_view name() const override { return real_.name(); }
  std::string_view summary() const override { return real_.summary(); }
  Contract contract(const Problem& p) const override { return real_.contract(p); }
  std::string why_unsupported(const Problem& p) const override { return real_.why_unsupported(p); }
  int num_splits(const Problem& p) const override { return real_.num_splits(p); }
  std::string code_object(std::string_view target) const override {
    return real_.code_object(target);
  }
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<Misled>(*this); }
  Outcome launch(Device& device, Module module, const Problem& problem,
                 const MlaTensors& tensors) const override {
    MlaTensors other = tensors;
    (other.*which_).address += (tensors.*which_).bytes - 4;
    return real_.launch(device, module, problem, other);
  }

 private:
  const Kernel& real_ = *find_kernel("mla_decode");
  Buffer MlaTensors::*which_;
};

Verdict verified(const Kernel& kernel, const emulator::EmulatorOptions& options = {}) {
  const auto device = emulator::make_device("gfx942", options);
  return verify(kernel, *device, *parse_token("v1:k=mla_decode:h=2:s=130:splits=2"),
                {ATTEST_CODE_OBJECT_DIR, 1, {}});
}

TEST(BucketOnTheEmulator, OfAnAccessBehindABufferNamesStageAndBuffer) {
  EXPECT_EQ(verified(Misled(&MlaTensors::partial_lse)).bucket, "stage1.oob.partial_lse.mla_decode");
  EXPECT_EQ(verified(Misled(&MlaTensors::lse)).bucket, "stage2.oob.lse.mla_decode");
}

TEST(BucketOnTheEmulator, OfAHangNamesTheStage) {
  const Verdict verdict = verified(*find_kernel("mla_decode"), {.instruction_budget = 100});
  EXPECT_EQ(verdict.status, Status::kHung);
  EXPECT_EQ(verdict.bucket, "stage1.hang.all.mla_decode");
}

}  // namespace
}  // namespace attest
