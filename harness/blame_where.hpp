// A set of faulty elements, described by the values that each of its coordinates takes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge_element.hpp"
#include "harness/subject.hpp"

namespace attest {

class Where {
 public:
  void add(const Place& place, Fault fault);
  void add(const Where& other);
  std::int64_t count() const { return count_; }
  const std::vector<bool>& rows() const { return rows_; }
  // "split 5 of 16 (tokens 5120..6143), heads 0-15, columns 128-191", or what of it says something.
  std::string text(const Subject& subject) const;

 private:
  std::string splits_text(const Subject& subject) const;
  std::string columns_text() const;
  std::int64_t count_ = 0;
  std::int64_t faults_[5] = {};  // of each Fault
  std::vector<bool> rows_, sequences_, query_tokens_, heads_, splits_, columns_;
};

// "0-3, 7".
std::string ranges_text(const std::vector<bool>& set);

}  // namespace attest
