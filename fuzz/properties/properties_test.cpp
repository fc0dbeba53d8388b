#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "fuzz/properties/property.hpp"

namespace attest {
namespace {

TEST(Properties, EachFileIsInTheCatalogue) {
  std::set<std::string> files, listed;
  for (const auto& entry :
       std::filesystem::directory_iterator(ATTEST_SOURCE_DIR "/fuzz/properties")) {
    const std::string stem = entry.path().stem().string();
    if (entry.path().extension() != ".cpp" || stem == "catalog") continue;
    if (!stem.ends_with("_test")) files.insert(stem);
  }
  for (const Property* property : all_properties()) {
    listed.insert(std::string{property->name()});
    EXPECT_EQ(find_property(property->name()), property);
  }
  EXPECT_EQ(files, listed);
  EXPECT_EQ(listed.size(), all_properties().size());
}

TEST(Properties, TheOracleIsNoneOfThem) { EXPECT_EQ(find_property(kOracle), nullptr); }

std::string expectation_of(const Property& property) {
  Contract none, all;
  none.run_to_run_bitwise = false;
  all.layout_invariant = all.batch_invariant = true;
  if (property.promise(none) == Promise::kBitEqual) return "bit-equal";
  if (property.promise(all) == Promise::kWithinBound) return "within bound";
  return "bit-equal where promised, else within bound";
}

struct RowOfTable {
  std::string name, statement, expectation;
  bool operator==(const RowOfTable&) const = default;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0, end; (end = line.find(" | ", at)) != std::string::npos; at = end + 3) {
    cells.push_back(line.substr(at, end - at));
  }
  return cells;
}

// One row a property, in the catalogue's order.
TEST(PropertiesReadme, ListsEachPropertyWithItsStatementAndExpectation) {
  std::ifstream file(ATTEST_SOURCE_DIR "/fuzz/properties/README.md");
  std::vector<RowOfTable> rows, expected;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const auto cells = cells_of(line.substr(2));
    ASSERT_EQ(cells.size(), 3u) << line;  // and the last, which ends with the line
    rows.push_back({cells[0].substr(1, cells[0].size() - 2), cells[1], cells[2]});
  }
  for (const Property* property : all_properties()) {
    expected.push_back({std::string{property->name()}, std::string{property->statement()},
                        expectation_of(*property)});
  }
  ASSERT_EQ(rows.size(), expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].name, expected[i].name);
    EXPECT_EQ(rows[i].statement, expected[i].statement);
    EXPECT_EQ(rows[i].expectation, expected[i].expectation) << rows[i].name;
  }
}

}  // namespace
}  // namespace attest
