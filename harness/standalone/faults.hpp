// Which elements show a failure, where they lie in the device's buffers, and what they should be.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/problem.hpp"
#include "harness/recording_device.hpp"
#include "harness/verify.hpp"

namespace attest {

// What makes an element right.
enum class Must {
  kLieWithin,    // its stored value is in [low, high]
  kHold,         // the bits of `wanted`
  kBeFinite,     // a number
  kBeWritten,    // anything but the fill of its buffer
  kEqualOther,   // the bits of `other`
  kBeNearOther,  // other's value + shift, within bound
};

struct ElementAt {
  std::size_t event = 0;   // of Record::events: the read that showed it
  std::size_t offset = 0;  // byte of that read's buffer
  std::uint32_t seen = 0;  // its bits
};

struct FaultyElement {
  std::string name;  // "o[sequence 0, query token 0, head 3, column 17]"
  ElementAt at;
  int bytes = 2;  // 2: bf16; 4: fp32
  Must must = Must::kLieWithin;
  std::uint32_t wanted = 0;
  double expected = 0, bound = 0;  // of the gate that it breaks
  double low = 0, high = 0;        // what all gates together accept, as stored
  ElementAt other;                 // read before `at`
  double shift = 0;
};

inline constexpr std::size_t kFaultsShown = 16;  // of a tensor

// The worst elements of each tensor that has a fault; those that are missing come first.
std::vector<FaultyElement> faulty_elements(const Judgement& judgement, const Record& record);

// What the kernel changed in its inputs and in the pads of o.
std::vector<FaultyElement> changed_elements(const Problem& problem, const Record& record);

}  // namespace attest
