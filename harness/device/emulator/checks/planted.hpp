// For the tests of checks: a HIP or assembly file whose lines say what must be found there.
//   x = lds[i];  // finds: lds_race
// A kernel is the text from a line that holds its name and "(" after `__global__`, or from its label in assembly, to
// the next one. One without such a comment must give no report.
#pragma once
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/core/check_report.hpp"

namespace attest::emulator {

// "lds_race at line 12"
using Findings = std::set<std::string>;

inline std::string finding(const std::string& check, int line) {
  return check + " at line " + std::to_string(line);
}

// Of each kernel of a file, in the words of its comments.
inline std::map<std::string, Findings> planted_in(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::map<std::string, Findings> planted;
  std::string line, kernel;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::size_t global = line.find("__global__");
    if (global != std::string::npos) {
      const std::size_t end = line.find('(', line.find("void", global));
      const std::size_t begin = line.rfind(' ', end) + 1;
      kernel = line.substr(begin, end - begin);
      planted[kernel];
    } else if (line.find(":") != std::string::npos && line.find("; kernel") != std::string::npos) {
      kernel = line.substr(0, line.find(':'));
      planted[kernel];
    }
    const std::size_t mark = line.find("finds: ");
    if (mark != std::string::npos) planted[kernel].insert(finding(line.substr(mark + 7), number));
  }
  return planted;
}

// The reports that are failures, in the same words. A place is "file:line:column < ...".
inline Findings found(const std::vector<CheckReport>& reports) {
  Findings findings;
  for (const CheckReport& report : reports) {
    if (report.benign) continue;
    const std::size_t colon = report.place.find(':');
    const int line = colon == std::string::npos ? 0 : std::atoi(&report.place[colon + 1]);
    findings.insert(finding(std::string(to_string(report.check)), line));
  }
  return findings;
}

}  // namespace attest::emulator
