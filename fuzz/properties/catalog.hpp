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

}  // namespace attest
