#include "fuzz/properties/parts/launches.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/random.hpp"

namespace attest {
namespace {

// Where a kernel stores a row's partial.
std::int64_t stored_partial(const Problem& p, int num_splits, std::int64_t row, int split) {
  return (row / p.h_q * num_splits + split) * p.h_q + row % p.h_q;
}

class Pair {
 public:
  Pair(const Kernel& kernel, const Launch& base, const Launch& other)
      : base_(kernel, base),
        other_(kernel, other),
        split_rule_(kernel.contract(base.c.problem).split_rule) {}

  void same(const Tie& tie) {
    const int visible = visible_at(base_.problem, tie.base);
    const std::int64_t row = tie.base.row;
    const bool sees = visible > 0;
    comparison_.same({Part::kLse, Format::kFp32, tie.base}, other_.lse(tie.other), base_.lse(row),
                     sees);
    for (int d = 0; d < kDV; ++d) {
      comparison_.same({Part::kO, Format::kBf16, tie.base, -1, d}, other_.o(tie.other, d),
                       base_.o(row, d), sees);
    }
    if (base_.num_splits == other_.num_splits && base_.num_splits > 1) {
      same_partials(tie, visible);
    }
  }

  void near(const Tie& tie, const Radii& of_base, const Radii& of_other) {
    const std::int64_t row = tie.base.row;
    const auto both = [](double a, double b) { return a + b; };
    compare_near({Part::kLse, Format::kFp32, tie.base}, other_.lse(tie.other), base_.lse(row),
                 tie.lse_shift, both(of_base.lse[row], of_other.lse[tie.other]));
    for (int d = 0; d < kDV; ++d) {
      compare_near({Part::kO, Format::kBf16, tie.base, -1, d}, other_.o(tie.other, d),
                   base_.o(row, d), 0,
                   both(of_base.o[row * kDV + d], of_other.o[tie.other * kDV + d]));
    }
  }
  const Comparison& comparison() const { return comparison_; }

 private:
  void same_partials(const Tie& tie, int visible) {
    const auto live =
        seen_splits(split_rule_, base_.problem.s_kv[tie.base.sequence], base_.num_splits, visible);
    const std::int64_t row = tie.base.row;
    for (int split = 0; split < std::ssize(live); ++split) {
      comparison_.same({Part::kPartialLse, Format::kFp32, tie.base, split},
                       other_.partial_lse(tie.other, split), base_.partial_lse(row, split), true);
      for (int d = 0; d < kDV; ++d) {
        comparison_.same({Part::kPartialO, base_.of_partial_o, tie.base, split, d},
                         other_.partial_o(tie.other, split, d), base_.partial_o(row, split, d),
                         true);
      }
    }
  }
  void compare_near(const Element& e, Held other, Held base, double shift, double allowed) {
    if (!base.written) return comparison_.near(e, base, 0, allowed);
    comparison_.near(e, other, value_of(e.format, base.bits) + shift, allowed);
  }

  Outputs base_, other_;
  SplitRule split_rule_;
  Comparison comparison_;
};

}  // namespace

Outputs::Outputs(const Kernel& kernel, const Launch& launch)
    : problem(launch.c.problem),
      output(launch.output),
      poison(launch.poison),
      num_splits(kernel.num_splits(problem)),
      of_partial_o(kernel.contract(problem).arithmetic.bf16_partials ? Format::kBf16
                                                                     : Format::kFp32) {}

Held Outputs::o(std::int64_t row, int column) const {
  return held(Format::kBf16, output.o[row * kDV + column], poison, row);
}
Held Outputs::lse(std::int64_t row) const {
  return held(Format::kFp32, output.lse[row], poison, row);
}
Held Outputs::partial_o(std::int64_t row, int split, int column) const {
  const std::int64_t at = stored_partial(problem, num_splits, row, split) * kDV + column;
  return held(of_partial_o, output.partial_o[at], poison, row);
}
Held Outputs::partial_lse(std::int64_t row, int split) const {
  return held(Format::kFp32, output.partial_lse[stored_partial(problem, num_splits, row, split)],
              poison, row);
}

Result<Launch> launch(Lab& lab, const Case& c, Result<Inputs> inputs, std::uint16_t poison) {
  if (!inputs.ok()) return inputs.trouble();
  auto output = lab.run(c, *inputs, poison);
  if (!output.ok()) return output.trouble();
  return Launch{c, std::move(*inputs), poison, std::move(*output)};
}

Result<Launch> launch_as_drawn(Lab& lab, const Case& c, std::uint16_t poison) {
  return launch(lab, c, lab.generate(c, poison), poison);
}

Result<Launch> launch_after(Lab& lab, Earlier earlier, const Case& before, const Case& c) {
  const auto before_inputs = lab.generate(before);
  if (!before_inputs.ok()) return before_inputs.trouble();
  auto inputs = lab.generate(c);
  if (!inputs.ok()) return inputs.trouble();
  auto output = lab.run_after(earlier, before, *before_inputs, c, *inputs);
  if (!output.ok()) return output.trouble();
  return Launch{c, std::move(*inputs), kPoison16, std::move(*output)};
}

Result<Launch> launch_scene(Lab& lab, const Case& c, const Scene& scene) {
  Case other = c;
  other.problem = scene.problem;
  return launch(lab, other, place(scene, {choice_of(c, 'p')}));
}

std::vector<Tie> tie_all(const Problem& problem, Promise promise) {
  std::vector<Tie> ties;
  for (const RowAt& at : rows_of(problem)) {
    ties.push_back({at, at.row, promise == Promise::kBitEqual});
  }
  return ties;
}

Result<Checked> compare(Lab& lab, const Launch& base, const Launch& other,
                        std::span<const Tie> ties, std::string words) {
  // A row that sees no token has fixed values, whatever was promised of others.
  const auto is_bounded = [&](const Tie& tie) {
    return !tie.bit_equal && visible_at(base.c.problem, tie.base) > 0;
  };
  Radii of_base, of_other;
  if (std::any_of(ties.begin(), ties.end(), is_bounded)) {
    auto first = lab.radii(base.c.problem, base.inputs);
    if (!first.ok()) return first.trouble();
    auto second = lab.radii(other.c.problem, other.inputs);
    if (!second.ok()) return second.trouble();
    of_base = std::move(*first);
    of_other = std::move(*second);
  }
  Pair pair(lab.kernel(), base, other);
  for (const Tie& tie : ties) {
    if (is_bounded(tie)) {
      pair.near(tie, of_base, of_other);
    } else {
      pair.same(tie);
    }
  }
  return pair.comparison().result(std::move(words));
}

std::string why_not_launch(const Problem& problem, const Kernel& kernel) {
  if (const std::string why = why_invalid(problem); !why.empty()) {
    return fmt::format("the other launch would be outside the limits: {}", why);
  }
  if (const std::string why = kernel.why_unsupported(problem); !why.empty()) {
    return fmt::format("the kernel does not take the other launch: {}", why);
  }
  return {};
}

std::string why_not_numbers(const Problem& p) {
  const bool bf16 = p.q_type == Storage::kBf16 && p.kv_type == Storage::kBf16;
  return bf16 ? "" : "it makes numbers in bf16, and q or the cache is stored in fp8";
}

std::uint64_t choice_of(const Case& c, std::uint64_t salt) {
  return mix64(mix64(c.seed.value + salt * kGolden) ^ c.schedule.seed);
}

}  // namespace attest
