// Where the reference of a large case is formed: --reference auto, cpu or device.
#pragma once
#include "harness/common_options.hpp"
#include "harness/verify.hpp"

namespace attest {

// It opens the device a second time, when the first reference that is worth it is due: the memory
// of a kernel under test and that of the reference are apart.
ReferenceDevice reference_device(const CommonOptions& common);

}  // namespace attest
