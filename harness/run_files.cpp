#include "harness/run_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "harness/report_files.hpp"

namespace attest {

Result<RunReports> RunReports::open(const RunFiles& files) {
  RunReports reports;
  for (const auto& [format, path] : files) {
    if (path.empty()) continue;
    if (path == "-") {
      return Trouble{TroubleKind::kUsage,
                     fmt::format("--{} -: name a file; stdout has the verdicts", format)};
    }
    const Outcome cleared = clear_file(path);
    if (!cleared.ok()) return cleared.trouble();
    if (format != "jsonl") {
      reports.made_[format] = path;
      continue;
    }
    reports.journal_.reset(std::fopen(path.c_str(), "w"));
    if (reports.journal_ == nullptr) {
      return Trouble{TroubleKind::kInfra, fmt::format("{}: {}", path, std::strerror(errno))};
    }
  }
  return reports;
}

void RunReports::add_reporters(std::vector<std::unique_ptr<Reporter>>& reporters) {
  if (journal_ != nullptr) reporters.push_back(make_jsonl_reporter(journal_.get()));
  if (made_.empty()) return;
  memory_ = std::make_unique<Memory>();
  memory_->file.reset(open_memstream(&memory_->text, &memory_->size));
  reporters.push_back(make_jsonl_reporter(memory_->file.get()));
}

Outcome RunReports::write() {
  if (memory_ == nullptr) return Done{};
  std::fflush(memory_->file.get());
  const auto results = parse_results({memory_->text, memory_->size}, "this run");
  if (!results.ok()) return Done{};  // it never began
  for (const auto& [name, path] : made_) {
    const Outcome written = write_whole_file(path, find_report_format(name)->render(*results, {}));
    if (!written.ok()) return written;
  }
  return Done{};
}

}  // namespace attest
