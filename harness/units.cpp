#include "harness/units.hpp"

#include <charconv>
#include <initializer_list>
#include <utility>

namespace attest {
namespace {

// A number over 0, times what the letter behind it stands for.
std::optional<double> parse(std::string_view text,
                            std::initializer_list<std::pair<std::string_view, double>> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !(value > 0 && value < 1e18)) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size() - end);
  if (unit.empty()) return value;
  for (const auto& [name, factor] : units) {
    if (name == unit) return value * factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  return parse(text, {{"s", 1}, {"m", 60}, {"h", 3600}});
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr double kKi = 1024;
  const auto bytes = parse(text, {{"K", kKi}, {"M", kKi * kKi}, {"G", kKi * kKi * kKi}});
  if (!bytes || *bytes < 1 || *bytes > 1e18) return std::nullopt;
  return static_cast<std::int64_t>(*bytes);
}

}  // namespace attest
