#include "harness/standalone/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <unordered_set>

namespace attest {
namespace {

constexpr std::size_t kRunValues = 64;     // of one value: a fill
constexpr std::size_t kSmallBytes = 4096;  // stay literals whatever the rest is
constexpr std::size_t kColumns = 100;

bool holds_integers(std::string_view label) {
  return label.ends_with("indptr") || label.ends_with("indices") || label.ends_with("page_len");
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

// How many values from `i` on are the same.
std::size_t run_at(std::span<const std::byte> bytes, std::size_t i) {
  const std::size_t values = bytes.size() / 2;
  const auto first = value_at<std::uint16_t>(bytes, i);
  std::size_t end = i + 1;
  while (end < values && value_at<std::uint16_t>(bytes, end) == first) ++end;
  return end - i;
}

// Bytes [begin, end) of a write; a run holds one 16-bit value.
struct Part {
  std::size_t begin = 0, end = 0;
  bool is_run = false;
};

std::vector<Part> parts_of(const RecordedWrite& write, std::string_view label) {
  const std::span<const std::byte> bytes = write.bytes;
  if (bytes.size() % 2 != 0 || write.offset % 2 != 0 || holds_integers(label))
    return {{0, bytes.size()}};
  std::vector<Part> parts;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = at + 2 * run_at(bytes, at / 2);
    if (end - at >= 2 * kRunValues) {
      if (begin < at) parts.push_back({begin, at});
      parts.push_back({at, end, true});
      begin = end;
    }
    at = end;
  }
  if (begin < bytes.size()) parts.push_back({begin, bytes.size()});
  return parts;
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Of all that is written, runs apart, each piece once.
std::size_t literal_bytes(const Record& record) {
  std::unordered_set<std::string_view> seen;
  std::size_t bytes = 0;
  for (const RecordedEvent& event : record.events) {
    const auto* const write = std::get_if<RecordedWrite>(&event);
    if (write == nullptr) continue;
    for (const Part& part : parts_of(*write, record.buffers[write->buffer].label)) {
      const auto piece = std::span{write->bytes}.subspan(part.begin, part.end - part.begin);
      if (!part.is_run && seen.insert(text_of(piece)).second) bytes += piece.size();
    }
  }
  return bytes;
}

}  // namespace

std::string identifier(std::string_view label) {
  constexpr std::string_view kOurs[] = {"q",         "kv",        "q_scale",    "kv_scale",
                                        "qo_indptr", "kv_indptr", "kv_indices", "kv_last_page_len",
                                        "o",         "lse",       "partial_o",  "partial_lse"};
  const bool is_ours = std::find(std::begin(kOurs), std::end(kOurs), label) != std::end(kOurs);
  std::string name = is_ours ? "" : "buffer_";  // no keyword, and no function of the program
  for (const char c : label) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

ProgramData::ProgramData(const Record& record)
    : record_(record), uses_file_(literal_bytes(record) > kLiteralBytes) {}

std::string ProgramData::new_name(const std::string& label) {
  const int n = ++names_[label];
  return n == 1 ? label : fmt::format("{}_{}", label, n);
}

template <class T>
std::string ProgramData::array(const std::string& label, std::string_view type,
                               std::string_view format, std::span<const std::byte> bytes) {
  const std::string name = new_name(identifier(label) + "_data");
  const std::size_t count = bytes.size() / sizeof(T);
  declarations_ += fmt::format("extern const {} {}[{}];\n", type, name, count);
  std::string line = "   ";
  arrays_ += fmt::format("const {} {}[{}] = {{\n", type, name, count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string value = fmt::format(fmt::runtime(format), value_at<T>(bytes, i));
    if (line.size() + value.size() + 2 > kColumns) {
      arrays_ += line + "\n";
      line = "   ";
    }
    line += " " + value + ",";
  }
  arrays_ += line + "};\n";
  return fmt::format("{}, sizeof {}", name, name);
}

// The arguments of upload() that say what: the same bytes are kept once.
std::string ProgramData::piece(const std::string& label, std::span<const std::byte> bytes) {
  const bool integers = holds_integers(label) && bytes.size() % 4 == 0;
  std::string& known = known_[{integers, text_of(bytes)}];
  if (!known.empty()) return known;
  if (uses_file_ && bytes.size() > kSmallBytes) {
    datasets_.push_back({new_name(identifier(label)), bytes});
    known = fmt::format("stored(\"{}\")", datasets_.back().name);
  } else if (integers) {
    known = array<std::int32_t>(label, "std::int32_t", "{}", bytes);
  } else if (bytes.size() % 2 == 0) {
    known = array<std::uint16_t>(label, "std::uint16_t", "0x{:04x}", bytes);
  } else {
    known = array<std::uint8_t>(label, "std::uint8_t", "0x{:02x}", bytes);
  }
  return known;
}

std::string ProgramData::upload(const RecordedWrite& write, const std::string& variable) {
  const std::string& label = record_.buffers[write.buffer].label;
  const std::span<const std::byte> bytes = write.bytes;
  std::string text;
  for (const Part& part : parts_of(write, label)) {
    const std::size_t at = write.offset + part.begin, size = part.end - part.begin;
    text += part.is_run ? fmt::format("  fill({}, {}, {}, 0x{:04x});\n", variable, at, size / 2,
                                      value_at<std::uint16_t>(bytes, part.begin / 2))
                        : fmt::format("  upload({}, {}, {});\n", variable, at,
                                      piece(label, bytes.subspan(part.begin, size)));
  }
  return text;
}

}  // namespace attest
