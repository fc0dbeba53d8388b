#include "fuzz/problems/draw.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/cost.hpp"

namespace attest {
namespace {

constexpr std::uint64_t kSeed = 20;
constexpr int kCases = 3000;
constexpr std::int64_t kTwo31 = std::int64_t{1} << 31;

const DrawOptions& options() {
  static const DrawOptions kOptions{.kernels = all_kernels()};
  return kOptions;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> kAll = [] {
    std::vector<Case> all;
    for (int i = 0; i < kCases; ++i) all.push_back(draw_case(kSeed, i, options()));
    return all;
  }();
  return kAll;
}

TEST(Draw, IsAPureFunctionOfSeedAndIndex) {
  for (int i = 0; i < 50; ++i) {
    const Case backwards = draw_case(kSeed, 49 - i, options());
    EXPECT_EQ(backwards, cases()[49 - i]);
    EXPECT_NE(draw_case(kSeed + 1, i, options()), cases()[i]);
    EXPECT_NE(draw_case(kSeed, i + 1, options()), cases()[i]);
  }
}

TEST(Draw, CasesAreValidAndTakenByTheirKernel) {
  for (const Case& c : cases()) {
    ASSERT_EQ(why_invalid(c.problem), "") << to_token(c);
    ASSERT_EQ(find_kernel(c.kernel)->why_unsupported(c.problem), "") << to_token(c);
    EXPECT_EQ(c.property, kOracle);
    EXPECT_EQ(c.steps, "");
    const Result<Case> parsed = parse_token(to_token(c));
    ASSERT_TRUE(parsed.ok()) << to_token(c);
    EXPECT_EQ(*parsed, c);
  }
}

TEST(Draw, MostCasesAreCheapAndNoneIsBeyondTenTimesThat) {
  double sum = 0;
  int cheap = 0;
  for (const Case& c : cases()) {
    const double ms = cost_ms(c.problem, *find_kernel(c.kernel));
    EXPECT_LE(ms, 10.001 * options().usual_ms) << to_token(c);
    cheap += ms <= 1.001 * options().usual_ms;
    sum += ms;
  }
  EXPECT_GE(cheap, 0.75 * kCases);
  EXPECT_LE(sum / kCases, 1.2 * options().usual_ms);
  EXPECT_GE(sum / kCases, 0.5 * options().usual_ms);
}

TEST(Draw, KeepsToSmallerBudgets) {
  DrawOptions small = options();
  small.usual_ms = 10;
  for (int i = 0; i < 300; ++i) {
    const Case c = draw_case(kSeed, i, small);
    EXPECT_LE(cost_ms(c.problem, *find_kernel(c.kernel)), 10.001 * small.usual_ms) << to_token(c);
  }
}

// A kernel that takes every storage.
class OfEveryStorage : public Kernel {
 public:
  std::string_view name() const override { return like_.name(); }
  std::string_view summary() const override { return like_.summary(); }
  Contract contract(const Problem& p) const override { return like_.contract(p); }
  std::string why_unsupported(const Problem& p) const override { return why_invalid(p); }
  int num_splits(const Problem& p) const override { return like_.num_splits(p); }
  std::string code_object(std::string_view target) const override {
    return like_.code_object(target);
  }
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<OfEveryStorage>(); }
  Outcome launch(Device&, Module, const Problem&, const MlaTensors&) const override {
    return Done{};
  }

 private:
  const Kernel& like_ = *find_kernel("mla_decode");
};

Case drawn_of_every_storage(std::int64_t index) {
  static const OfEveryStorage kKernel;
  static const Kernel* const kKernels[] = {&kKernel};
  return draw_case(kSeed, index, {.kernels = kKernels});
}

TEST(Draw, AKernelThatTakesNothingIsSaidAndItsCaseIsOneThatItDoesNotTake) {
  static const Kernel* const kNever[] = {find_kernel("aiter_bf16_3buffer_gqa16_ps")};
  EXPECT_NE(why_never_drawn(*kNever[0], kSeed).find("three planes"), std::string::npos);
  EXPECT_EQ(why_never_drawn(*find_kernel("mla_decode"), kSeed), "");
  const Case c = draw_case(kSeed, 0, {.kernels = kNever});
  EXPECT_EQ(c.kernel, kNever[0]->name());
  EXPECT_NE(kNever[0]->why_unsupported(c.problem), "");
}

TEST(Draw, StorageIsDrawnWhereTheKernelTakesItAndElseLeavesTheCaseAsItWas) {
  static const Kernel* const kOfBf16[] = {find_kernel("mla_decode")};
  int bf16 = 0, cache_alone = 0, both = 0;
  std::set<float> factors;
  for (int i = 0; i < 300; ++i) {
    const Case of_bf16 = draw_case(kSeed, i, {.kernels = kOfBf16});
    EXPECT_EQ(of_bf16.problem.kv_type, Storage::kBf16);
    Case c = drawn_of_every_storage(i);
    const Problem& p = c.problem;
    EXPECT_EQ(why_invalid(p), "");
    EXPECT_FALSE(p.q_type == Storage::kFp8 && p.kv_type == Storage::kBf16);
    bf16 += p.kv_type == Storage::kBf16;
    cache_alone += p.kv_type == Storage::kFp8 && p.q_type == Storage::kBf16;
    both += p.q_type == Storage::kFp8;
    factors.insert(p.kv_scale);
    c.problem.q_type = c.problem.kv_type = Storage::kBf16;
    c.problem.q_scale = c.problem.kv_scale = 1;
    EXPECT_EQ(c, of_bf16);
  }
  for (const int count : {bf16, cache_alone, both}) EXPECT_GT(count, 50);
  for (const float factor : {1.0f, 0.5f, 3.0f, 1e-3f}) EXPECT_TRUE(factors.contains(factor));
}

// The keys of a token, from the words of the parser: an axis that is new there must be drawn here.
TEST(Draw, EveryKeyOfATokenIsDrawn) {
  const Result<Case> unknown = parse_token("v1:nosuchkey=1");
  ASSERT_FALSE(unknown.ok());
  const std::string& text = unknown.trouble().text;
  const std::string_view before = "All keys: ";
  ASSERT_NE(text.find(before), std::string::npos) << text;
  std::vector<Case> of_every_storage;
  for (int i = 0; i < 100; ++i) of_every_storage.push_back(drawn_of_every_storage(i));
  std::istringstream keys(text.substr(text.find(before) + before.size()));
  int count = 0;
  for (std::string key; keys >> key;) {
    if (key == "prop" || key == "steps") continue;
    ++count;
    const auto has_key = [&](const Case& c) {
      return to_token(c).find(":" + key + "=") != std::string::npos;
    };
    EXPECT_TRUE(std::any_of(cases().begin(), cases().end(), has_key) ||
                std::any_of(of_every_storage.begin(), of_every_storage.end(), has_key))
        << key;
  }
  EXPECT_GE(count, 21);
}

template <class Value>
std::multiset<Value> values(const std::function<Value(const Case&)>& value) {
  std::multiset<Value> seen;
  for (const Case& c : cases()) seen.insert(value(c));
  return seen;
}

TEST(Draw, ReachesTheEdgesOfEveryAxis) {
  const auto has_all = [](const char* axis, const auto& seen, auto list) {
    for (const auto& value : list) EXPECT_TRUE(seen.contains(value)) << axis << " " << value;
  };
  using Ints = std::initializer_list<int>;
  const auto of = [](auto value) { return values<int>(value); };
  has_all("h_q", of([](const Case& c) { return c.problem.h_q; }),
          Ints{1, 12, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128});
  has_all("s_q", of([](const Case& c) { return c.problem.max_s_q(); }),
          Ints{1, 2, 3, 4, 5, 6, 7, 8});
  has_all("page_size", of([](const Case& c) { return c.problem.page_size; }), Ints{1, 16, 64});
  has_all("num_splits", of([](const Case& c) { return c.problem.num_splits; }),
          Ints{0, 1, 2, 3, 7, 8, 9, 16, 64, 255, 256});
  has_all("page_order", of([](const Case& c) { return static_cast<int>(c.problem.page_order); }),
          Ints{0, 1, 2});
  has_all("grid_order", of([](const Case& c) { return static_cast<int>(c.problem.grid_order); }),
          Ints{0, 1, 2});
  has_all("kv_indptr_start", of([](const Case& c) { return c.problem.kv_indptr_start; }),
          Ints{0, 1, 2, 63, 64, 65});
  has_all("q_pad", of([](const Case& c) { return c.problem.q_pad; }), Ints{0, 8, 16, 128});
  has_all("o_pad", of([](const Case& c) { return c.problem.o_pad; }), Ints{0, 8, 16, 128});
  has_all("sm_scale", values<float>([](const Case& c) { return c.problem.sm_scale; }),
          std::initializer_list<float>{1.0f / 24, 0.044194174f, 0.13523377f, -1.0f / 24, 0.0f, 1.0f,
                                       1e-3f, 1e-30f});
  std::vector<std::string> names;
  for (const Distribution* d : all_distributions()) names.emplace_back(d->name());
  has_all("distribution", values<std::string>([](const Case& c) { return c.distribution; }), names);
  names.clear();
  for (const Kernel* kernel : all_kernels()) names.emplace_back(kernel->name());
  has_all("kernel", values<std::string>([](const Case& c) { return c.kernel; }), names);
  const auto in_order = of([](const Case& c) { return c.schedule == Schedule{}; }).count(1);
  EXPECT_NEAR(static_cast<double>(in_order), kCases / 2.0, kCases / 20.0);
}

TEST(Draw, ReachesLengthsAtTheSeamsOfTheWalk) {
  std::set<int> lengths;
  std::set<std::pair<int, int>> to_s_q;  // (s_q, s_kv - s_q)
  for (const Case& c : cases()) {
    for (int seq = 0; seq < c.problem.b(); ++seq) {
      lengths.insert(c.problem.s_kv[seq]);
      to_s_q.emplace(c.problem.s_q[seq], c.problem.s_kv[seq] - c.problem.s_q[seq]);
    }
  }
  for (int edge : {0,  1,   15,  16,  17,  31,  32,  33,  47,  48,  49,   63,   64,
                   65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025}) {
    EXPECT_TRUE(lengths.contains(edge)) << edge;
  }
  EXPECT_GT(*lengths.rbegin(), 8000);
  for (int s_q = 1; s_q <= kMaxQueryTokens; ++s_q) {
    for (int off : {-1, 0, 1}) EXPECT_TRUE(to_s_q.contains({s_q, off})) << s_q << " " << off;
  }
}

struct Kind {
  const char* name;
  bool (*is)(const Problem& p);
  double share;  // of all cases, at least
};

std::int64_t first_byte(const Problem& p) { return p.page_base * p.page_size * kDQk * 2; }
std::int64_t end_byte(const Problem& p) {
  std::int64_t pages = 0;
  for (int seq = 0; seq < p.b(); ++seq) pages += p.pages_of(seq);
  return first_byte(p) + pages * p.page_size * kDQk * 2;
}
bool passes(const Problem& p, std::int64_t byte) {
  return first_byte(p) < byte && end_byte(p) > byte;
}
int longest(const Problem& p) { return *std::max_element(p.s_kv.begin(), p.s_kv.end()); }

constexpr Kind kKinds[] = {
    {"one sequence", [](const Problem& p) { return p.b() == 1; }, 0.2},
    {"a batch of five or more", [](const Problem& p) { return p.b() >= 5; }, 0.15},
    {"a batch over 20", [](const Problem& p) { return p.b() > 20; }, 0.005},
    {"padding rows behind real ones",
     [](const Problem& p) { return p.b() > 1 && p.s_kv[0] > 0 && p.s_kv.back() == 0; }, 0.05},
    {"rows that see nothing though there are tokens",
     [](const Problem& p) {
       for (int seq = 0; seq < p.b(); ++seq)
         if (p.s_kv[seq] > 0 && p.s_kv[seq] < p.s_q[seq]) return true;
       return false;
     },
     0.05},
    {"one long among many short",
     [](const Problem& p) { return p.b() >= 4 && longest(p) > p.total_kv() * 3 / 4; }, 0.02},
    {"ragged s_q", [](const Problem& p) { return std::set(p.s_q.begin(), p.s_q.end()).size() > 1; },
     0.1},
    {"more splits than tokens",
     [](const Problem& p) { return longest(p) > 0 && p.num_splits > longest(p); }, 0.05},
    {"a shared prefix", [](const Problem& p) { return p.shared_prefix > 0; }, 0.1},
    {"a shared prefix and nothing more",
     [](const Problem& p) { return p.shared_prefix > 0 && p.shared_prefix == longest(p); }, 0.005},
    {"used pages on both sides of 2^31 bytes", [](const Problem& p) { return passes(p, kTwo31); },
     0.002},
    {"used pages on both sides of 2^32 bytes",
     [](const Problem& p) { return passes(p, 2 * kTwo31); }, 0.002},
    {"used pages on both sides of 2^32 elements",
     [](const Problem& p) { return passes(p, 4 * kTwo31); }, 0.002},
    {"under 2 GiB of pages in front, as they cost time",
     [](const Problem& p) { return end_byte(p) < kTwo31; }, 0.95},
};

TEST(Draw, HasItsShareOfEverySpecialKind) {
  for (const Kind& kind : kKinds) {
    const auto count = std::count_if(cases().begin(), cases().end(),
                                     [&](const Case& c) { return kind.is(c.problem); });
    EXPECT_GE(static_cast<double>(count), kind.share * kCases) << kind.name;
  }
}

}  // namespace
}  // namespace attest
