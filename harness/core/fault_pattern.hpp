// FaultPattern: where the faults of a tensor lie, as one word that two reports of one cause share.
// It comes from the columns alone: there are 512 of them in every case, while which sequences,
// heads, splits and tokens hold a fault changes with the shape and, near a bound, by chance.
#pragma once
#include <cstdint>
#include <string_view>

namespace attest {

class FaultPattern {
 public:
  // Aligned, so many: what a wave of P.V or a program of the merge holds.
  static constexpr int kBlockColumns = 64;

  void note(int column) {  // negative: none, as an lse has none
    ++faults_;
    if (column >= 0) blocks_ |= 1u << column / kBlockColumns;
  }
  std::int64_t faults() const { return faults_; }
  // At least 32 elements in at most half of the blocks: by chance that happens once in 10^7 times.
  bool is_in_columns() const;
  std::string_view word() const { return is_in_columns() ? "columns" : "scattered"; }

 private:
  std::int64_t faults_ = 0;
  std::uint32_t blocks_ = 0;  // that hold a fault
};

}  // namespace attest
