// Journal: results.jsonl of a nightly, while it is written. It is locked, so that no two nightlies
// write one, and only ever appended to: what is in it outlives whatever ends the nightly.
#pragma once
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "harness/core/trouble.hpp"
#include "harness/out_file.hpp"
#include "reports/run/results.hpp"

namespace attest {

inline constexpr const char* kJournalName = "results.jsonl";

class Journal {
 public:
  // A new one in the folder, which is made. Trouble kUsage: a run is there already, or another
  // process writes there; kInfra: the disk.
  static Result<Journal> begin(const std::string& folder);
  // That of a run that has begun. Of a last line that a kill cut short nothing is left.
  static Result<Journal> resume(const std::string& folder);

  const std::string& folder() const { return folder_; }
  const std::string& path() const { return path_; }
  std::FILE* file() const { return file_.get(); }
  const std::optional<Results>& before() const { return before_; }  // of a run that is resumed
  // What was cut off, or cannot be locked; empty: nothing.
  const std::string& note() const { return note_; }
  // Cases that ran each time, of twice or more, that a nightly was killed, and never ended.
  std::set<std::string> ends_nightlies() const;

 private:
  static Result<Journal> open(const std::string& folder, bool make);
  Outcome mend();  // the last line

  std::string folder_, path_, note_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::string text_;  // that was there
  std::optional<Results> before_;
};

}  // namespace attest
