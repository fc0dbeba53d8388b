// What `uses_of` says about an instruction against what the instruction does: it changes no other
// row than its destinations, and they depend on no other row than its sources.
#include <gtest/gtest.h>

#include <set>

#include "harness/core/random.hpp"
#include "harness/device/emulator/checks/uses.hpp"
#include "harness/device/emulator/code_object.hpp"

namespace attest::emulator {
namespace {

// All rows of a wave, as the checks number them: one lane of a scalar row.
u32* row_of(Wave& w, int row) { return row < kScalarRow ? w.v[row] : &w.s[row - kScalarRow]; }
std::size_t bytes_of(int row) { return row < kScalarRow ? sizeof(u32) * kLanes : sizeof(u32); }

void fill(Wave& w, u64 seed) {
  u64 state = seed;
  for (int row = 0; row < kSccRow; ++row) {
    for (std::size_t i = 0; i < bytes_of(row) / 4; ++i)
      row_of(w, row)[i] = static_cast<u32>(state = mix64(state + kGolden));
  }
  w.scc = state & 1;
  w.set_s64(kExec, kAllLanes);
}
void copy(Wave& to, const Span& span, Wave& from) {
  for (int row = span.row; row < span.row + span.count; ++row) {
    if (row == kSccRow) {
      to.scc = from.scc;
    } else {
      std::memcpy(row_of(to, row), row_of(from, row), bytes_of(row));
    }
  }
}
bool same(Wave& a, Wave& b, int row) {
  if (row == kSccRow) return a.scc == b.scc;
  return std::memcmp(row_of(a, row), row_of(b, row), bytes_of(row)) == 0;
}

// Instructions of the arithmetic units whose registers are those in the text.
bool can_be_tried(const Inst& in, const Uses& uses, std::string_view text) {
  const bool arithmetic =
      uses.unit == Unit::kScalar || uses.unit == Unit::kVector || uses.unit == Unit::kMatrix;
  return arithmetic && !in.indexed && !text.starts_with("s_getpc") &&
         !text.starts_with("s_setreg") && !text.starts_with("s_getreg");
}

class Trial {
 public:
  Trial() {
    fill(*before_, 1);
    fill(*noise_, 2);
    for (Wave* w : {&*before_, &*noise_}) w->group = &*group_;
  }

  void run(const Program& program, const Inst& in, const Uses& uses) {
    const std::string& text = program.text[in.index];
    for (Wave* w : {&*before_, &*noise_}) w->program = &program;
    *one_ = *before_;
    if (in.run(*one_, in) != Flow::kNext) return;
    RowSet written;
    for (const Span& span : uses.destinations()) written.add(span.row, span.count);
    for (int row = 0; row < kRows; ++row)
      EXPECT_TRUE(written.has(row) || same(*before_, *one_, row)) << text << ": " << row_text(row);
    *other_ = *noise_;
    for (const Span& span : uses.sources()) copy(*other_, span, *before_);
    in.run(*other_, in);
    for (int row = 0; row < kRows; ++row)
      EXPECT_TRUE(!written.has(row) || same(*one_, *other_, row)) << text << ": " << row_text(row);
  }

 private:
  std::unique_ptr<Workgroup> group_ = std::make_unique<Workgroup>();
  std::unique_ptr<Wave> before_ = std::make_unique<Wave>(), noise_ = std::make_unique<Wave>(),
                        one_ = std::make_unique<Wave>(), other_ = std::make_unique<Wave>();
};

}  // namespace

TEST(Uses, AreWhatTheInstructionsOfCompiledKernelsDo) {
  Trial trial;
  for (const std::string target : {"gfx942", "gfx90a"}) {
    auto object = CodeObject::load(ATTEST_CODE_OBJECT_DIR "/mla_decode." + target + ".co", target);
    ASSERT_TRUE(object.ok()) << object.trouble().text;
    std::set<std::string> tried;
    for (const KernelInfo& kernel : (*object)->kernels()) {
      auto program = decode(*object, kernel);
      ASSERT_TRUE(program.ok()) << program.trouble().text;
      const ProgramUses uses = uses_of(**program);
      for (const Inst& in : (*program)->insts) {
        const std::string& text = (*program)->text[in.index];
        if (can_be_tried(in, uses[in.index], text) && tried.insert(text).second)
          trial.run(**program, in, uses[in.index]);
      }
    }
    EXPECT_GT(tried.size(), 500u);
  }
}

}  // namespace attest::emulator
