// Mutant: an edit of the kernels that a verifier must see (a defect, a cheat) or must not mind (a
// benign one). The text format and the classes are explained in fuzz/mutants/README.md.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/trouble.hpp"

namespace attest {

// Lines of one file that give way to others.
struct Hunk {
  std::string path;                // from the root of the tree
  int line = 0;                    // where the hunk begins in the mutant's own file
  std::string old_text, new_text;  // whole lines
};

struct Mutant {
  std::string name;       // of its file, without the ending
  std::string defect;     // what is wrong, in one sentence
  std::string recreates;  // the public bug with this mechanism: owner/repository#number or @commit
  std::string bug_class;  // one of mutant_classes()
  std::vector<Hunk> hunks;

  bool is_cheat() const { return bug_class == "CHEAT"; }
  bool is_benign() const { return bug_class == "BENIGN"; }
  bool is_defect() const { return !is_cheat() && !is_benign(); }
};

std::span<const std::string_view> mutant_classes();

// Trouble: kUsage, with the line and what is allowed there.
Result<Mutant> parse_mutant(const std::string& name, const std::string& text);

// Every *.mutant file of the folder, in the order of their names.
Result<std::vector<Mutant>> read_mutants(const std::string& folder);

using FilesByPath = std::map<std::string, std::string>;  // path from the root of the tree, text

// The edited files. Trouble: kUsage, when a file is missing or a hunk's old text does not stand in
// it exactly once.
Result<FilesByPath> apply_mutant(const Mutant& mutant, const std::string& root);

}  // namespace attest
