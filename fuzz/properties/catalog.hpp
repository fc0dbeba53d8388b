// One declaration and one line in catalog.cpp for each property.
#pragma once
#include "fuzz/properties/property.hpp"

namespace attest {

const Property& memory_property();
const Property& repeat_property();
const Property& poison_property();
const Property& schedule_property();
const Property& grid_property();
const Property& pages_property();
const Property& page_size_property();
const Property& splits_property();
const Property& prefix_property();
const Property& masked_tokens_property();
const Property& duplicated_property();
const Property& shifted_property();
const Property& scaled_property();
const Property& constant_v_property();
const Property& lone_token_property();
const Property& batch_property();
const Property& heads_property();
const Property& mtp_rows_property();
const Property& replay_property();
const Property& dirty_workspace_property();

}  // namespace attest
