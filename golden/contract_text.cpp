#include "golden/contract_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

namespace attest {
namespace {

constexpr std::array<std::string_view, 7> kUnits = {"sequential_fma", "cdna1_bf16", "cdna2_bf16",
                                                    "cdna3_bf16",     "cdna3_fp8",  "hopper_bf16",
                                                    "unknown"};
constexpr std::array<std::string_view, 3> kMerges = {"sequential", "max_first", "division_free"};
constexpr std::array<std::string_view, 2> kEmptyRows = {"zeros_and_minus_inf", "unwritten"};
static_assert(static_cast<std::size_t>(MatrixUnit::kUnknown) + 1 == kUnits.size());
static_assert(static_cast<std::size_t>(Merge::kDivisionFree) + 1 == kMerges.size());
static_assert(static_cast<std::size_t>(EmptyRow::kUnwritten) + 1 == kEmptyRows.size());

template <class Names, class Enum>
std::string_view name_of(const Names& names, Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// The lists of names below are complete, or they do not compile: one for each member, in order.
std::string text_of(const Arithmetic& arithmetic) {
  const auto& [matrix_unit, exp_ulp, log_ulp, divide_u, p_bits, p_min_exponent, p_largest, p_scale,
               p_truncates, l_from_rounded_p, scaled_q, k_relative, bf16_partials, o_truncates,
               merge, lse_in_log2, tile_tokens, waves_per_split, lazy_rescale, lazy_heads,
               schedule_declared] = arithmetic;
  return fmt::format(
      "matrix_unit={} exp_ulp={} log_ulp={} divide_u={} p_bits={} p_min_exponent={} p_largest={} "
      "p_scale={} p_truncates={} l_from_rounded_p={} scaled_q={} k_relative={} bf16_partials={} "
      "o_truncates={} merge={} lse_in_log2={} tile_tokens={} waves_per_split={} lazy_rescale={} "
      "lazy_heads={} schedule_declared={}",
      name_of(kUnits, matrix_unit), exp_ulp, log_ulp, divide_u, p_bits, p_min_exponent, p_largest,
      p_scale, p_truncates, l_from_rounded_p, scaled_q, k_relative, bf16_partials, o_truncates,
      name_of(kMerges, merge), lse_in_log2, tile_tokens, waves_per_split, lazy_rescale, lazy_heads,
      schedule_declared);
}

// name -> value
std::map<std::string, std::string> fields_of(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = std::min(word.find('='), word.size());
    fields[word.substr(0, equals)] = word.substr(std::min(equals + 1, word.size()));
  }
  return fields;
}

}  // namespace

std::string contract_text(const Contract& contract) {
  const auto& [arithmetic, split_rule, empty_row, run_to_run_bitwise, layout_invariant,
               batch_invariant] = contract;
  const auto& [min_tokens, dealt_tile] = split_rule;
  return fmt::format(
      "{} split_min_tokens={} split_dealt_tile={} empty_row={} run_to_run_bitwise={} "
      "layout_invariant={} batch_invariant={}",
      text_of(arithmetic), min_tokens, dealt_tile, name_of(kEmptyRows, empty_row),
      run_to_run_bitwise, layout_invariant, batch_invariant);
}

std::string contract_changes(const std::string& before, const std::string& after) {
  auto old_fields = fields_of(before), new_fields = fields_of(after);
  std::set<std::string> names;
  for (const auto& fields : {old_fields, new_fields})
    for (const auto& [name, value] : fields) names.insert(name);
  std::string text;
  const auto value_in = [](const auto& fields, const std::string& name) -> std::string {
    const auto found = fields.find(name);
    return found == fields.end() ? "(none)" : found->second;
  };
  for (const std::string& name : names) {
    const std::string was = value_in(old_fields, name), is = value_in(new_fields, name);
    if (was != is) text += fmt::format("{}{} {} -> {}", text.empty() ? "" : ", ", name, was, is);
  }
  return text;
}

}  // namespace attest
