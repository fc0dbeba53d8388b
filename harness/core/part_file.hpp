// A file that is written beside the one whose place it takes when it is whole.
#pragma once
#include <string>

#include "harness/core/trouble.hpp"

namespace attest {

// An empty file "PATH.PROCESS-NUMBER.part" that nobody else has: two programs that write PATH at
// once do not meet in it. Trouble kInfra: PATH and why there is none.
Result<std::string> new_part_file(const std::string& path);

// To the disk, then in the place of `path`. The part is gone in any case. Trouble kInfra: PATH and
// why.
Outcome put_in_place(const std::string& part, const std::string& path);

}  // namespace attest
