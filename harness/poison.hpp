// The poison's constants, for the harness.
#pragma once
#include "harness/core/poison.hpp"  // IWYU pragma: export
