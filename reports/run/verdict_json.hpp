// The JSON of a record: what jsonl.cpp writes and results.cpp reads. JSON has no inf and no NaN:
// they are text. A reader takes what it knows, and its default where a field is missing.
#pragma once
#include <nlohmann/json.hpp>

#include "reports/reporter.hpp"

namespace attest {

using Json = nlohmann::ordered_json;

Json number(double value);
double number_of(const Json& json);  // 0 where it is none

Json to_json(const RunHeader& header);
Json to_json(const CaseRecord& record);
Json to_json(const PlannedCase& planned);
Json to_json(const Tally& tally);

// Throw Json::exception where a field has another type than it must.
RunHeader header_of(const Json& json);
CaseRecord case_of(const Json& json);
PlannedCase planned_of(const Json& json);

// One line, whatever bytes a reason quotes.
std::string to_line(const Json& json);

}  // namespace attest
