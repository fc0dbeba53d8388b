#include "fuzz/properties/catalog.hpp"

#include <algorithm>
#include <array>

namespace attest {

std::span<const Property* const> all_properties() {
  static const std::array kAll = {
      &memory_property(),        &repeat_property(),
      &poison_property(),        &schedule_property(),
      &grid_property(),          &pages_property(),
      &page_size_property(),     &batch_property(),
      &heads_property(),         &mtp_rows_property(),
      &masked_tokens_property(), &scaled_property(),
      &splits_property(),        &prefix_property(),
      &duplicated_property(),    &shifted_property(),
      &constant_v_property(),    &lone_token_property(),
      &replay_property(),        &dirty_workspace_property(),
  };
  return kAll;
}

const Property* find_property(std::string_view name) {
  const auto all = all_properties();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Property* property) { return property->name() == name; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace attest
