#include "fuzz/distributions/catalog.hpp"

#include <array>

namespace attest {

std::span<const Distribution* const> all_distributions() {
  static const std::array kAll = {
      &normal_distribution(),
      &needles_distribution(),
      &uniform_logits_distribution(),
      &monotone_distribution(),
  };
  return kAll;
}

const Distribution* find_distribution(std::string_view name) {
  for (const Distribution* distribution : all_distributions()) {
    if (distribution->name() == name) return distribution;
  }
  return nullptr;
}

}  // namespace attest
