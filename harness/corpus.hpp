// Corpus: failures that were found, kept as tokens and replayed first. A folder of text files, one
// a kernel (mla_decode.tokens), whose lines are "TOKEN  # bucket"; an empty line and what follows a
// # say nothing.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"

namespace attest {

struct CorpusCase {
  Case c;
  std::string bucket;  // that it was kept for, or a word of why; may be empty
};

// All cases of the folder's *.tokens, by the name of the file, then in the order of its lines; each
// once. Trouble kUsage: a folder or file that cannot be read, or a bad token, with file and line.
Result<std::vector<CorpusCase>> read_corpus(const std::string& folder);

// Appends the case to its kernel's file, unless it is there, and waits until it is on disk. Makes
// the folder. Other processes may do the same at once. Trouble kInfra, which holds the line that
// could not be kept.
Outcome add_to_corpus(const std::string& folder, const Case& c, std::string_view bucket);

}  // namespace attest
