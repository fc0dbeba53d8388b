// The HDF5 file beside a program whose data is too large for literals. The same data gives the same
// bytes: no times are kept.
#pragma once
#include <string>
#include <vector>

#include "harness/core/trouble.hpp"
#include "harness/standalone/data.hpp"

namespace attest {

Outcome write_data_file(const std::string& path, const std::vector<Dataset>& datasets);

}  // namespace attest
