// What a device that checks the execution of a kernel found beside its numbers.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/trouble.hpp"

namespace attest {

enum class Check : std::uint8_t {
  kBounds,         // an access inside a buffer, but outside the tensor that it holds
  kUninitialised,  // what nobody wrote reaches an address, a branch or a store
  kLdsRace,        // two waves, one LDS byte, no barrier between
  kGlobalRace,     // two workgroups, one byte of global memory, no order between
  kBarrier,        // waves, or lanes of one, part at a barrier
  kWaits,          // a register or memory is used before what was to wait for it
  kHazards,        // too few instructions between two that the ISA wants apart
  kUseAfterFree,   // an access to a buffer that was released
  kVisibility,     // a chiplet's cache holds what the launch has replaced elsewhere
};
inline constexpr int kChecks = 9;

std::string_view to_string(Check check);  // "lds_race", as the command line spells it
std::string_view statement(Check check);  // one line for `attest list`

class CheckSet {
 public:
  static CheckSet all() { return CheckSet((1u << kChecks) - 1); }
  CheckSet() = default;
  bool has(Check check) const { return bits_ >> static_cast<int>(check) & 1; }
  bool any() const { return bits_ != 0; }
  CheckSet& add(Check check) {
    bits_ |= 1u << static_cast<int>(check);
    return *this;
  }
  bool operator==(const CheckSet&) const = default;

 private:
  explicit CheckSet(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

// "all", "none", or names joined by commas. Trouble kUsage: which name is none, and which there
// are.
Result<CheckSet> parse_checks(std::string_view text);
std::string to_string(const CheckSet& checks);  // what parse_checks takes

// One mistake: all that one source line did, of one check and one kernel.
struct CheckReport {
  Check check = Check::kBounds;
  std::string kernel;       // the code object's symbol
  std::string place;        // "mla.hip:38:19", or "pc 0x1a40"
  std::string instruction;  // disassembly
  std::string what;         // what is wrong there, of the first time
  std::string who;          // workgroup, wave, lane of the first time
  std::string other = {};   // the other party of a conflict, with its place; empty: there is none
  std::int64_t times = 0;
  // Nothing that a result could show: stores of the same value. Listed, no failure.
  bool benign = false;
};

std::string to_string(const CheckReport& report);  // the whole of it, in lines

}  // namespace attest
