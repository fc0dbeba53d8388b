// What a run says of itself before its first case.
#pragma once
#include <cstdint>
#include <string>

#include "harness/commands.hpp"
#include "reports/reporter.hpp"

namespace attest {

RunHeader run_header(const CommonOptions& common, const std::string& command, std::int64_t cases);

// The run id that the shards of one night share: of what they have in common.
std::string shared_run_id(const std::string& job, const RunHeader& header);

// "0.1.0, code objects 5b1f09aa41c7d2e3": a hash of the files *.TARGET.* of the folder, of their
// names and bytes; of the program alone where there is none.
std::string build_text(const std::string& code_objects, const std::string& device);

}  // namespace attest
