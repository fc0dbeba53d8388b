// What `attest fuzz` prints and keeps of a campaign: text for people on stdout, progress on stderr,
// and a journal of JSON Lines, each on disk before the next step, so that nothing is lost when the
// program ends early.
#pragma once
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "harness/campaign.hpp"
#include "harness/corpus.hpp"
#include "reports/reporter.hpp"
#include "reports/run/status_line.hpp"

namespace attest {

class CampaignReport {
 public:
  // The files stay the caller's; `text` may be null. `corpus` is the folder that failures are kept
  // in; empty: none.
  CampaignReport(std::FILE* text, std::vector<std::FILE*> journals, std::string corpus);

  void begin(const RunHeader& header, std::uint64_t seed);
  CampaignEvents events();
  void end(const CampaignResult& result);
  // Empty unless the journal or the corpus could not be written in full; then why.
  const std::string& trouble() const { return trouble_; }

 private:
  void begins(std::int64_t index, const Case& c);  // from any thread
  void failed(const Case& c, const Verdict& verdict, bool is_new);
  void rerun(const Found& found);
  void smaller(const Found& found);
  void shrunk(const Found& found);
  void progress(const CampaignResult& result);
  void keep(const Case& c, const std::string& bucket);
  void write_line(const std::string& line);
  bool must_end();

  std::FILE* text_;
  std::vector<std::FILE*> journals_;
  std::string repro_options_;
  std::string corpus_;  // folder; empty: failures are not kept
  StatusLine status_;
  std::mutex writing_;  // guards journals and trouble_
  std::string trouble_;
};

// One line of the console's verdict, the reason and what follows, as a failing case has everywhere.
std::string failure_text(const Case& c, const Verdict& verdict, const std::string& repro_options);

}  // namespace attest
