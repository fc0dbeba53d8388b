// A graph holds its arguments and its grid; lengths, tables and numbers are those of the replay.
#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class Replay final : public TwiceProperty {
 public:
  Replay()
      : TwiceProperty("replay",
                      "a graph that was captured at other lengths gives the bits of a launch") {}
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    if (!kernel.can_be_captured()) {
      return "its launcher reads or writes memory from the host: no graph can be captured of it";
    }
    return why_not_launch(captured(c).problem, kernel);
  }

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    words = "captured and replayed at half the lengths, then replayed here";
    return launch_after(lab, Earlier::kCaptured, captured(first.c), first.c);
  }

 private:
  static Case captured(Case c) {
    for (int& s_kv : c.problem.s_kv) s_kv = s_kv == 0 ? 1 : s_kv / 2;
    c.problem.shared_prefix = 0;
    ++c.seed.value;
    return c;
  }
};

}  // namespace

const Property& replay_property() {
  static const Replay kInstance;
  return kInstance;
}

}  // namespace attest
