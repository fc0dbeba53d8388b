#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class Repeat final : public TwiceProperty {
 public:
  Repeat() : TwiceProperty("repeat", "the same launch gives the same bits") {}

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    words = "the same launch again";
    return launch_as_drawn(lab, first.c);
  }
};

}  // namespace

const Property& repeat_property() {
  static const Repeat kInstance;
  return kInstance;
}

}  // namespace attest
