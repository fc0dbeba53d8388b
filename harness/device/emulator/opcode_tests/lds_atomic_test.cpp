// LDS atomics. Rules: CDNA3 ISA guide, "DS instructions": the value before is returned by the _rtn
// forms; the compare value of ds_cmpst comes first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "harness/device/emulator/opcode_tests/atomic_rules.hpp"
#include "harness/device/emulator/opcode_tests/lds_state.hpp"

namespace attest::emulator::opcode_tests {
namespace {

namespace r = atomic_rule;
// DS names: the type is part of the mnemonic.
const Atomic kAtomics[] = {
    {"add_u32", false, r::add<u32>, Kind::kU32},
    {"add_u64", true, r::add<u64>, Kind::kU64},
    {"sub_u32", false, r::sub<u32>, Kind::kU32},
    {"sub_u64", true, r::sub<u64>, Kind::kU64},
    {"rsub_u32", false, r::rsub<u32>, Kind::kU32},
    {"rsub_u64", true, r::rsub<u64>, Kind::kU64},
    {"inc_u32", false, r::increment, Kind::kU32},
    {"inc_u64", true, r::increment, Kind::kU64},
    {"dec_u32", false, r::decrement, Kind::kU32},
    {"dec_u64", true, r::decrement, Kind::kU64},
    {"min_i32", false, r::least<i32>, Kind::kU32},
    {"min_i64", true, r::least<i64>, Kind::kU64},
    {"max_i32", false, r::most<i32>, Kind::kU32},
    {"max_i64", true, r::most<i64>, Kind::kU64},
    {"min_u32", false, r::least<u32>, Kind::kU32},
    {"min_u64", true, r::least<u64>, Kind::kU64},
    {"max_u32", false, r::most<u32>, Kind::kU32},
    {"max_u64", true, r::most<u64>, Kind::kU64},
    {"and_b32", false, r::conjunction, Kind::kU32},
    {"and_b64", true, r::conjunction, Kind::kU64},
    {"or_b32", false, r::disjunction, Kind::kU32},
    {"or_b64", true, r::disjunction, Kind::kU64},
    {"xor_b32", false, r::difference, Kind::kU32},
    {"xor_b64", true, r::difference, Kind::kU64},
    {"wrxchg_b32", false, r::swap, Kind::kU32},
    {"wrxchg_b64", true, r::swap, Kind::kU64},
    {"cmpst_b32", false, r::compare_swap, Kind::kU32},
    {"cmpst_b64", true, r::compare_swap, Kind::kU64},
    {"add_f32", false, r::add_f32, Kind::kF32, Match::kFloat},
    {"add_f64", true, r::add_f64, Kind::kF64, Match::kFloat},
    {"pk_add_f16", false, r::add_halves, Kind::kPkHalf, Match::kFloat},
    {"min_f64", true, r::least_f64, Kind::kF64, Match::kFloat},
    {"max_f64", true, r::most_f64, Kind::kF64, Match::kFloat},
    {"pk_add_bf16", false, r::add_bf16s, Kind::kPkBf16, Match::kFloat},
    {"min_f32", false, r::least_f32, Kind::kF32, Match::kFloat},
    {"max_f32", false, r::most_f32, Kind::kF32, Match::kFloat},
};

std::string ds_name(const Atomic& op, bool returns) {
  const std::string name = op.name;
  const auto at = name.rfind('_');
  return "ds_" + name.substr(0, at) + (returns ? "_rtn" : "") + name.substr(at);
}
bool is_swap(const Atomic& op) { return std::string(op.name).starts_with("wrxchg"); }
bool is_compare(const Atomic& op) { return std::string(op.name).starts_with("cmpst"); }

// Eight lanes share each address: they are served one after the other, here checked in lane order
// by replaying what each lane got back; without a returned value each lane has its own address.
void check_atomic(const Atomic& op, bool returns, u64 exec, u64 seed) {
  const std::string name = ds_name(op, returns);
  if (!implemented(name) || (is_swap(op) && !returns)) return;
  const int dwords = op.wide ? 2 : 1;
  WaveState state = start();
  state.exec = exec;
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = lane * 8;
    const u64 memory = draw(op.kind, seed + lane), data = draw(op.kind, ~(seed + lane));
    const u64 compare = lane % 2 ? memory : draw(op.kind, seed + 3 * lane);
    std::memcpy(state.lds.data() + 16 + lane * 8, &memory, op.wide ? 8 : 4);
    // ds_cmpst takes the compare value first, then the new one.
    const u64 first = is_compare(op) ? compare : data, second = data;
    for (int d = 0; d < 2; ++d) {
      state.vgpr[(8 + d) * 64 + lane] = static_cast<u32>(first >> (32 * d));
      state.vgpr[(10 + d) * 64 + lane] = static_cast<u32>(second >> (32 * d));
    }
  }
  const WaveState before = state;
  std::string text =
      name + (returns ? " " + registers(4, dwords) + "," : "") + " v0, " + registers(8, dwords);
  if (is_compare(op)) text += ", " + registers(10, dwords);
  text += " offset:16";
  run(text, state);
  for (unsigned lane = 0; lane < 64; ++lane) {
    const auto pair = [&](int reg) {
      return before.vgpr[reg * 64 + lane] |
             (op.wide ? u64{before.vgpr[(reg + 1) * 64 + lane]} << 32 : 0);
    };
    const bool active = (exec >> lane) & 1;
    const u64 memory = lds_at(before, 16 + lane * 8, 4 * dwords), compare = pair(8),
              data = is_compare(op) ? pair(10) : pair(8);
    const u64 want = active ? op.rule(memory, data, compare) : memory;
    EXPECT_EQ(disagreement(lds_at(state, 16 + lane * 8, 4 * dwords), want, op.kind,
                           active ? op.match : Match::kBits),
              "")
        << text
        << fmt::format(", lane {}: memory {:#x}, data {:#x}, compare {:#x}", lane, memory, data,
                       compare);
    const u64 got =
        state.vgpr[4 * 64 + lane] | (op.wide ? u64{state.vgpr[5 * 64 + lane]} << 32 : 0);
    EXPECT_EQ(got, returns && active ? memory : pair(4)) << text << ", returned to lane " << lane;
  }
}

}  // namespace

std::vector<std::string> lds_atomic_mnemonics() {
  std::vector<std::string> names;
  for (const Atomic& op : kAtomics) {
    names.push_back(ds_name(op, true));
    if (!is_swap(op)) names.push_back(ds_name(op, false));
  }
  return names;
}

TEST(Lds, AtomicsFollowTheIsaGuide) {
  for (const Atomic& op : kAtomics) {
    for (u64 seed = 0; seed < 4; ++seed) {
      for (bool returns : {false, true})
        check_atomic(op, returns, seed == 3 ? kSomeLanes : ~u64{0}, seed * 100);
    }
  }
}

TEST(Lds, AtomicsOfManyLanesOnOneAddressAllCount) {
  WaveState state = start();
  for (unsigned lane = 0; lane < 64; ++lane) {
    state.vgpr[lane] = 128;
    state.vgpr[64 + lane] = lane + 1;
  }
  const u32 zero = 0;
  std::memcpy(state.lds.data() + 128, &zero, 4);
  run("ds_add_rtn_u32 v2, v0, v1", state);
  EXPECT_EQ(lds_at(state, 128, 4), 64u * 65 / 2);
  std::vector<u32> seen(state.vgpr.begin() + 128, state.vgpr.begin() + 192);
  std::sort(seen.begin(), seen.end());
  EXPECT_TRUE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

}  // namespace attest::emulator::opcode_tests
