// What a larger launch left in outputs and workspaces are numbers like those that belong there.
#include <algorithm>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

constexpr int kSplitsToFill = 8;     // that the launch before makes live
constexpr int kSequencesToFill = 8;  // of so many sequences

class DirtyWorkspace final : public TwiceProperty {
 public:
  DirtyWorkspace()
      : TwiceProperty("dirty_workspace",
                      "what another launch left in outputs and workspaces does not show in a bit") {
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    if (kernel.contract(c.problem).empty_row == EmptyRow::kUnwritten) {
      return "rows that see nothing rightly keep what lay there";
    }
    return why_not_launch(larger(c, kernel).problem, kernel);
  }

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    words = "after a launch of longer sequences in the same memory";
    return launch_after(lab, Earlier::kLaunched, larger(first.c, lab.kernel()), first.c);
  }

 private:
  // Its live splits lie where the case's are dead.
  static Case larger(Case c, const Kernel& kernel) {
    Problem& p = c.problem;
    const int tokens =
        kernel.contract(p).split_rule.min_tokens * std::min(kSplitsToFill, kernel.num_splits(p));
    for (int seq = 0; seq < std::min(kSequencesToFill, p.b()); ++seq) {
      p.s_kv[seq] = std::max(p.s_kv[seq], tokens);
    }
    ++c.seed.value;
    return c;
  }
};

}  // namespace

const Property& dirty_workspace_property() {
  static const DirtyWorkspace kInstance;
  return kInstance;
}

}  // namespace attest
