// That `stress repeat` finds a race where there is one: kernels whose last-arriving workgroup
// merges the splits of a row (stress_planted.hip), right and wrong, on the emulator and on silicon.
#include <gtest/gtest.h>

#include <fstream>

#include "harness/core/code_object_file.hpp"
#include "harness/device/device_list.hpp"
#include "harness/stress.hpp"

namespace attest {
namespace {

// Of stress_planted.hip.
struct Arguments {
  std::uint64_t addresses[9];
  int page_shift, num_splits, h;
  float scale_log2;
};

class Planted final : public Kernel {
 public:
  explicit Planted(std::string symbol) : symbol_(std::move(symbol)) {}

  std::string_view name() const override { return symbol_; }
  std::string_view summary() const override { return "fp32, merged by the last to arrive"; }
  Contract contract(const Problem&) const override {
    Contract contract;
    contract.arithmetic = {.exp_ulp = 2,
                           .log_ulp = 2,
                           .divide_u = 6,
                           .p_bits = 24,  // P stays fp32
                           .tile_tokens = 1024};
    return contract;
  }
  std::string why_unsupported(const Problem& p) const override {
    const bool fits = p.max_s_q() == 1 && p.q_pad == 0 && p.o_pad == 0 && p.num_splits > 1;
    return fits ? "" : "one query token a sequence, packed, and several splits";
  }
  int num_splits(const Problem& p) const override { return p.num_splits; }
  std::string code_object(std::string_view target) const override {
    return code_object_file("stress_planted", target);
  }
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<Planted>(symbol_); }
  Outcome launch(Device& device, Module module, const Problem& p,
                 const MlaTensors& t) const override {
    const auto function = device.function(module, symbol_);
    if (!function.ok()) return function.trouble();
    KernelArguments arguments;
    arguments.add(Arguments{
        {t.kv_indptr.address, t.kv_indices.address, t.kv_last_page_len.address, t.q.address,
         t.kv.address, t.o.address, t.lse.address, t.partial_o.address, t.partial_lse.address},
        std::countr_zero(static_cast<unsigned>(p.page_size)),
        p.num_splits,
        p.h_q,
        static_cast<float>(p.sm_scale * 1.4426950408889634)});
    const auto splits = static_cast<std::uint32_t>(p.num_splits);
    return device.launch(
        *function,
        {{splits, static_cast<std::uint32_t>(p.b()), static_cast<std::uint32_t>(p.h_q)},
         {256, 1, 1},
         0},
        arguments);
  }

 private:
  std::string symbol_;
};

// On the emulator schedules move workgroups and delay stores; on silicon what disturbs does.
struct Place {
  const char *device, *token;
  int launches;
};
constexpr Place kEmulator = {"emu:gfx942", "v1:h=4:s=520,300:page=16:splits=8", 24};
constexpr Place kSilicon = {"cuda:0", "v1:h=16:s=4096x4,1000:page=16:splits=16", 1000};

class Race : public testing::TestWithParam<Place> {
 protected:
  void SetUp() override {
    auto device = open_device(GetParam().device, {.threads = 1});
    if (!device.ok() && device.trouble().kind == TroubleKind::kInfra) {
      GTEST_SKIP() << device.trouble().text;
    }
    ASSERT_TRUE(device.ok());
    device_ = std::move(*device);
  }
  Verdict stressed(const char* symbol) {
    return stress_repeat(Planted(symbol), *device_, *parse_token(GetParam().token),
                         {{.code_objects = ATTEST_CODE_OBJECT_DIR, .threads = 2},
                          GetParam().launches,
                          ATTEST_CODE_OBJECT_DIR});
  }
  void expect_found(const char* symbol) {
    const Verdict verdict = stressed(symbol);
    EXPECT_EQ(verdict.status, Status::kFailed) << symbol << ": " << verdict.reason;
    if (device_->is_emulated()) {  // launch 1 is undisturbed there: workgroups in order
      EXPECT_FALSE(verdict.reason.starts_with("launch 1 of ")) << verdict.reason;
      EXPECT_NE(verdict.reason.find(" launches fail"), std::string::npos) << verdict.reason;
    }
    std::printf("%s\n", verdict.reason.c_str());
  }
  std::unique_ptr<Device> device_;
};

TEST_P(Race, ThatIsNoneIsNotFound) {
  const Verdict verdict = stressed("planted_right");
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
}

TEST_P(Race, OfACounterThatIsRaisedBeforeTheStoresIsFound) { expect_found("planted_early"); }

TEST_P(Race, OfSumsInTheOrderOfArrivalIsFound) { expect_found("planted_atomic_sum"); }

// Reads of the clock in a code object for gfx942. Source: CDNA3 ISA, "Scalar Memory Instructions":
// s_memtime is opcode 36 of SMEM, its destination in bits 6..12.
int clock_reads(const std::string& name) {
  std::ifstream file(ATTEST_CODE_OBJECT_DIR "/" + name + ".gfx942.co", std::ios::binary);
  EXPECT_TRUE(file) << name;
  int reads = 0;
  std::uint32_t words[2] = {};
  while (file.read(reinterpret_cast<char*>(&words[1]), sizeof words[1])) {
    reads += (words[0] & ~(0x7fu << 6)) == 0xc0900000 && words[1] == 0;
    words[0] = words[1];
  }
  return reads;
}

// Else `stress order` would compare a build with itself.
TEST(ForcedArrival, HoldsEachStageBackTwiceAndTheNormalBuildNever) {
  EXPECT_EQ(clock_reads("mla_decode"), 0);
  constexpr int kKernels = 4, kCalls = 2, kReadsOfACall = 2;
  for (const char* order : {"forward", "reverse", "seeded"}) {
    EXPECT_GE(clock_reads(std::string("mla_decode_") + order), kKernels * kCalls * kReadsOfACall);
  }
}

INSTANTIATE_TEST_SUITE_P(On, Race, testing::Values(kEmulator, kSilicon), [](const auto& info) {
  return std::string(info.index == 0 ? "Emulator" : "Silicon");
});

}  // namespace
}  // namespace attest
