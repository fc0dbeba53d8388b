// FaultPlaces: in which rows, splits and columns of a tensor the wrong elements lie, for a map of
// them.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "harness/core/verdict.hpp"
#include "harness/subject.hpp"

namespace attest {

class FaultPlaces {
 public:
  static constexpr int kColumnBlock = 64;  // of o: a wave's share in the kernels we know
  static constexpr int kMostBlocks = 32;   // along an axis of the map

  void add(const Place& place);
  // o: rows by columns; partial_o: splits by columns; partial_lse: rows by splits; lse: rows by
  // one.
  FaultMap map(const std::string& tensor) const;

 private:
  using Key = std::array<std::int64_t, 3>;  // row, split, block of columns; -1: the tensor has none
  std::map<Key, std::int64_t> counts_;
  Key last_key_{-2, -2, -2};  // faults come in runs along a row
  std::int64_t* last_ = nullptr;
};

}  // namespace attest
