#include "fuzz/distributions/census.hpp"

#include <algorithm>

#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

constexpr std::uint16_t kOne = 0x3f80, kMinusOne = 0xbf80;

struct Code {
  std::int16_t column = 0;
  std::int16_t sign = 1;
};

// The blocks take the columns in turn, and the sign flips with every turn: what a column holds is
// at most one block.
Code code_of_block(int token) {
  const int block = token / kCensusBlock;
  return {static_cast<std::int16_t>(block % kCensusColumns),
          static_cast<std::int16_t>(block / kCensusColumns % 2 == 0 ? 1 : -1)};
}

// A page takes any column, and a sign that brings it nearer to 0: so at most one page of 64 tokens
// is left.
class PageCodes {
 public:
  PageCodes(const Problem& problem, Seed seed) : page_size_(problem.page_size), seed_(seed) {
    std::vector<int> sums(kCensusColumns);
    add_pages(kPrefixOwner, 0, problem.shared_prefix, sums, prefix_);
    own_.resize(problem.b());
    for (int seq = 0; seq < problem.b(); ++seq) {
      std::vector<int> own_sums = sums;
      add_pages(seq, problem.shared_prefix, problem.s_kv[seq], own_sums, own_[seq]);
    }
    first_own_ = problem.shared_prefix / page_size_;
  }

  Code of(int owner, int token) const {
    const int page = token / page_size_;
    return owner == kPrefixOwner ? prefix_[page] : own_[owner][page - first_own_];
  }

 private:
  void add_pages(int owner, int begin, int end, std::vector<int>& sums,
                 std::vector<Code>& codes) const {
    const Stream stream = stream_of(seed_, Tensor::kPlan, owner);
    for (int token = begin; token < end; token += page_size_) {
      const std::uint64_t bits = stream.bits(token / page_size_);
      const auto column = static_cast<std::int16_t>(bits % kCensusColumns);
      int& sum = sums[column];
      const int sign = sum > 0 ? -1 : sum < 0 ? 1 : bits >> 63 != 0 ? 1 : -1;
      sum += sign * std::min(page_size_, end - token);
      codes.push_back(
          {static_cast<std::int16_t>(kCensusColumns + column), static_cast<std::int16_t>(sign)});
    }
  }

  const int page_size_;
  const Seed seed_;
  int first_own_ = 0;
  std::vector<Code> prefix_;
  std::vector<std::vector<Code>> own_;
};

class CensusSampler : public Sampler {
 public:
  CensusSampler(const Problem& problem, const Walk&, Seed seed)
      : pages_(problem, seed), seed_(seed) {}
  void fill_q(int, int, int, Row row) const override { clear(row); }
  void fill_kv(int owner, int token, Row row) const override {
    clear(row.first(kDV));
    for (const Code code : {code_of_block(token), pages_.of(owner, token)}) {
      row[code.column] = code.sign > 0 ? kOne : kMinusOne;
    }
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row.subspan(kDV));
  }

 private:
  const PageCodes pages_;
  const Seed seed_;
};

}  // namespace

std::vector<int> census_counts(const Problem& problem, Seed seed, int sequence, int visible) {
  const PageCodes pages(problem, seed);
  std::vector<int> counts(kDV);
  for (int token = 0; token < visible; ++token) {
    const Code block = code_of_block(token);
    const Code page = pages.of(token < problem.shared_prefix ? kPrefixOwner : sequence, token);
    counts[block.column] += block.sign;
    counts[page.column] += page.sign;
  }
  return counts;
}

const Distribution& census_distribution() {
  static const DistributionOf<CensusSampler> kInstance{
      "census",
      "q = 0, V counts tokens by block and by page: o is an integer over L exactly; sees any token "
      "lost, doubled or "
      "taken from another page"};
  return kInstance;
}

}  // namespace attest
