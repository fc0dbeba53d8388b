#include "reports/run/text.hpp"

#include <algorithm>

namespace attest {
namespace {

constexpr std::string_view kEllipsis = "…";

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

bool is_hidden(std::string_view character) {
  const char first = character[0];
  if (first == '\n' || first == '\t') return false;
  if (is_continuation(first)) return true;  // of no character: some terminals obey 0x9b alone
  if (character.size() == 1) return static_cast<unsigned char>(first) < 0x20 || first == 0x7f;
  if (character.size() == 2) return character >= "\u0080" && character <= "\u009f";
  return (character >= "\u202a" && character <= "\u202e") ||
         (character >= "\u2066" && character <= "\u2069") || character == "\uFFFE" ||
         character == "\uFFFF";
}

}  // namespace

std::size_t character_bytes(std::string_view text) {
  std::size_t size = std::min<std::size_t>(1, text.size());
  while (size < text.size() && is_continuation(text[size])) ++size;
  return size;
}

std::string cut(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return std::string(text);
  std::size_t end = most_bytes - std::min(most_bytes, kEllipsis.size());
  while (end > 0 && is_continuation(text[end])) --end;
  return std::string(text.substr(0, end)) + std::string(kEllipsis);
}

std::string visible(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_bytes(text));
    shown += is_hidden(character) ? "\uFFFD" : character;
    text.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace attest
