// What is told of a Comparison, and the formats that it is told in.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare/compare.hpp"

namespace attest {

// A kind of change, a row each.
struct ComparedSection {
  struct Row {
    std::vector<std::string> cells;         // one a column
    std::string reason = {}, command = {};  // below the row; empty: there is none
    std::vector<std::string> others = {};   // cases that it is about as well
  };
  std::string name;   // "new", in one word or two
  std::string about;  // a sentence
  std::vector<std::string> columns;
  std::vector<Row> rows;
};
// In the order in which they are told: what can hide a failure first.
std::vector<ComparedSection> sections_of(const Comparison& comparison);

std::string cases_text(std::int64_t count);  // "1 case", "2 cases"

// "worse: 2 new buckets, 1 bound is looser".
std::string headline_of(const Comparison& comparison);

struct CompareFormat {
  std::string_view name, purpose;
  std::string (*render)(const Comparison& comparison);
};
std::span<const CompareFormat> all_compare_formats();
const CompareFormat* find_compare_format(std::string_view name);

std::string compared_as_text(const Comparison& comparison);
std::string compared_as_markdown(const Comparison& comparison);  // under 65,000 bytes
std::string compared_as_json(const Comparison& comparison);

}  // namespace attest
