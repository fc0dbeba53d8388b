// The file that a run keeps its results in, in a folder of its own.
#pragma once
#include <cstdio>
#include <memory>
#include <string>

#include "harness/core/trouble.hpp"

namespace attest {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

struct OutFile {
  std::string path;
  std::unique_ptr<std::FILE, FileCloser> file;
};

// "attest-out/RUN-DATE-TIME".
std::string new_out_folder(const std::string& run);

// `name` in `folder`, which is made; an empty folder: a new one. Trouble: kInfra, with the path.
Result<OutFile> open_out_file(std::string folder, const std::string& run, const std::string& name);

}  // namespace attest
