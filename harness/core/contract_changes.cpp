#include "harness/core/contract_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

namespace attest {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;  // name, value

Fields fields_of(const std::string& text) {
  Fields fields;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size());
    fields.emplace_back(word.substr(0, equals), word.substr(std::min(equals + 1, word.size())));
  }
  return fields;
}

std::string value_in(const Fields& fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const auto& field) { return field.first == name; });
  return found == fields.end() ? "not said" : found->second;
}

}  // namespace

std::string contract_changes(const std::string& before, const std::string& after) {
  const Fields was = fields_of(before), is = fields_of(after);
  std::string text;
  const auto add = [&](const std::string& name) {
    const std::string old_value = value_in(was, name), new_value = value_in(is, name);
    if (old_value != new_value)
      text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", name, old_value, new_value);
  };
  for (const auto& [name, value] : was) add(name);
  for (const auto& [name, value] : is) {
    if (value_in(was, name) == "not said") add(name);
  }
  return text;
}

}  // namespace attest
