#include "harness/bucket.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace attest {
namespace {

constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kWordLetters) == std::string_view::npos;
}

// What follows `before`, as far as the letters of a word go; empty where it does not stand.
std::string_view word_after(std::string_view text, std::string_view before) {
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = text.substr(found + before.size());
  return rest.substr(0, std::min(rest.find_first_not_of(kWordLetters), rest.size()));
}

std::string_view stage_of_symbol(std::string_view symbol) {
  for (const std::string_view stage : {"stage1", "stage2"}) {
    if (symbol.find(stage) != std::string_view::npos) return stage;
  }
  return "launch";
}

// "12 bytes after the end of kv [0x...": as far as a guard zone goes the buffer beside it says what
// was meant; beyond, which buffer is nearest is chance.
std::string_view tensor_of_access(std::string_view text) {
  constexpr std::uint64_t kNear = 64 * 1024;  // bytes
  const std::string_view bytes = word_after(text, "outside every buffer: ");
  std::uint64_t distance = 0;
  const auto read = std::from_chars(bytes.data(), bytes.data() + bytes.size(), distance);
  if (read.ec != std::errc{} || distance > kNear) return "far";
  for (const std::string_view side :
       {"bytes after the end of ", "bytes before the start of ", "bytes inside "}) {
    if (const std::string_view label = word_after(text, side); !label.empty()) return label;
  }
  return "far";
}

Bucket make(std::string_view stage, std::string_view kind, std::string_view pattern,
            std::string_view kernel) {
  return {std::string(stage), std::string(kind), std::string(pattern), std::string(kernel)};
}

}  // namespace

std::string to_string(const Bucket& b) {
  return fmt::format("{}.{}.{}.{}", b.stage, b.kind, b.pattern, b.kernel);
}

Result<Bucket> parse_bucket(std::string_view text) {
  std::array<std::string, 4> words;
  std::string_view rest = text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t end =
        i + 1 == words.size() ? rest.size() : std::min(rest.find('.'), rest.size());
    words[i] = rest.substr(0, end);
    rest = rest.substr(std::min(end + 1, rest.size()));
  }
  if (!std::all_of(words.begin(), words.end(), is_word)) {
    return Trouble{
        TroubleKind::kUsage,
        fmt::format("'{}' is no bucket: it is four words, stage.kind.pattern.kernel", text)};
  }
  return Bucket{words[0], words[1], words[2], words[3]};
}

Bucket bucket_of(const Trouble& trouble, std::string_view kernel) {
  const std::string_view text = trouble.text;
  if (trouble.kind == TroubleKind::kRefused) {
    return make(stage_of_symbol(word_after(text, "kernel ")), "refused", "all", kernel);
  }
  const std::string_view stage = stage_of_symbol(word_after(text, "\n  kernel "));
  if (trouble.kind == TroubleKind::kHung) return make(stage, "hang", "all", kernel);
  if (text.find("is outside every buffer: ") != std::string_view::npos) {
    const bool released = text.find(", which was released") != std::string_view::npos;
    return make(stage, released ? "use_after_free" : "oob", tensor_of_access(text), kernel);
  }
  if (text.starts_with("LDS access of ")) return make(stage, "oob", "lds", kernel);
  return make(stage, "crash", "all", kernel);
}

// "kernels/stage1.hpp:38:19" as "stage1-hpp-38", "pc 0x1a40" as "pc-0x1a40".
std::string line_word(std::string_view place) {
  const std::size_t slash = place.substr(0, place.find(':')).rfind('/');
  std::string word;
  int colons = 0;
  for (const char c : place.substr(slash == std::string_view::npos ? 0 : slash + 1)) {
    if (c == '\n' || (c == ':' && ++colons == 2) || (place.starts_with("pc ") && colons == 1))
      break;
    const char small = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    word += is_word({&small, 1}) ? small : '-';
  }
  return word;
}

// "check lds_race: ...\n  at stage1.hpp:38:19 < mla.hip:12:1: ds_read...\n  kernel
// mla_decode_stage1_16, ...".
Bucket bucket_of_check(std::string_view text, std::string_view kernel) {
  const std::string_view rest = text.substr(std::min(text.find("\n  at ") + 6, text.size()));
  // Two frames: an inlined helper's line and that of its call.
  const std::size_t first_end = rest.find(" < ");
  std::string pattern = line_word(rest.substr(0, first_end));
  if (first_end < rest.find('\n')) pattern += "-" + line_word(rest.substr(first_end + 3));
  return make(stage_of_symbol(word_after(text, "\n  kernel ")), word_after(text, "check "),
              pattern.empty() ? "all" : pattern, kernel);
}

Bucket bucket_of_damage(std::string_view damage, std::string_view kernel) {
  if (damage.starts_with("check ")) return bucket_of_check(damage, kernel);
  if (damage.starts_with("changed its input ")) {
    return make("memory", "input", word_after(damage, "changed its input "), kernel);
  }
  if (damage.starts_with("wrote into the pad of ")) {
    return make("memory", "overwritten", "pad", kernel);
  }
  for (const std::string_view before : {"wrote outside ", "wrote behind the last row of "}) {
    const std::string_view label = word_after(damage, before);
    if (!label.empty()) return make("memory", "oob", label, kernel);
  }
  return make("memory", "oob", "all", kernel);
}

}  // namespace attest
