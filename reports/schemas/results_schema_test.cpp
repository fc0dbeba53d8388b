#include <gtest/gtest.h>

#include "reports/formats_testing.hpp"

namespace attest {
namespace {

// Every field that `json` has is described in the schema's definition `name`, and so on below it.
void expect_described(const Json& schema, const std::string& name, const Json& json) {
  const Json& properties = schema["$defs"][name]["properties"];
  for (const auto& [key, value] : json.items()) {
    ASSERT_TRUE(properties.contains(key)) << name << ": " << key;
    const Json& known = properties[key];
    const Json& of_one = known.contains("items") ? known["items"] : known;
    if (!of_one.contains("$ref")) continue;
    const auto below = of_one["$ref"].get<std::string>().substr(std::string("#/$defs/").size());
    if (!schema["$defs"][below].contains("properties")) continue;
    const bool is_list = value.is_array();
    for (const Json& one : is_list ? value : Json::array({value}))
      expect_described(schema, below, one);
  }
}

TEST(ResultsSchema, DescribesEveryFieldThatIsWritten) {
  const Json schema =
      Json::parse(text_of(ATTEST_SOURCE_DIR "/reports/schemas/results.schema.json"));
  const Results results = approved_run();
  ASSERT_EQ(results.cases.size(), 16u);
  for (const RunHeader& run : results.runs) expect_described(schema, "run_begin", to_json(run));
  for (const CaseRecord& record : results.cases) {
    expect_described(schema, "case_end", to_json(record));
  }
  expect_described(schema, "tally", to_json(results.tally));
}

}  // namespace
}  // namespace attest
