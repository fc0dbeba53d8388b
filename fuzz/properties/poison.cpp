// A read of memory that nobody wrote may leave no NaN: its weight is 0, or a clamp hides the
// address. Between two poisons it must not show either.
#include <fmt/format.h>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

constexpr std::uint16_t kPi = 0x4049;  // bf16; as fp32, twice, 3.145

class Poison final : public TwiceProperty {
 public:
  Poison()
      : TwiceProperty("poison", "what lies in memory that nobody wrote does not show in a bit") {}

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    words = fmt::format("poison 0x{:04x} (finite) against 0x{:04x} (a NaN)", kPi, first.poison);
    return launch_as_drawn(lab, first.c, kPi);
  }
};

}  // namespace

const Property& poison_property() {
  static const Poison kInstance;
  return kInstance;
}

}  // namespace attest
