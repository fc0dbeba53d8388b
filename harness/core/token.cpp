// The token: the name of a case, and all that is needed to rebuild it. One table of keys does
// printing and parsing, so that the two cannot drift apart. Characters are [A-Za-z0-9_.,:=+-],
// which no shell touches.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <optional>

#include "harness/core/case.hpp"

namespace attest {
namespace {

constexpr std::string_view kVersion = "v1";

// Empty when the text was taken; else the value that the key allows.
using Parse = std::string (*)(std::string_view text, Case& c);
// Empty when the value is the default and is left out.
using Print = std::string (*)(const Case& c);

struct Key {
  std::string_view name;
  std::string_view allows;
  Print print;
  Parse parse;
};

template <class T>
bool parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

// 1,63,4096x8: runs of equal lengths.
std::string print_list(const std::vector<int>& list) {
  std::string text;
  for (std::size_t i = 0; i < list.size();) {
    std::size_t end = i + 1;
    while (end < list.size() && list[end] == list[i]) ++end;
    text += fmt::format("{}{}", i == 0 ? "" : ",", list[i]);
    if (end - i > 1) text += fmt::format("x{}", end - i);
    i = end;
  }
  return text;
}

std::string parse_list(std::string_view text, std::vector<int>& list) {
  list.clear();
  for (std::string_view part : split(text, ',')) {
    const std::size_t times = part.find('x');
    int value = 0, count = 1;
    if (!parse_number(part.substr(0, times), value)) return fmt::format("'{}' is no length", part);
    if (times != std::string_view::npos && !parse_number(part.substr(times + 1), count)) {
      return fmt::format("'{}' has no count after x", part);
    }
    if (count < 1 || count > kMaxBatch - static_cast<int>(list.size())) {
      return fmt::format("'{}' makes it other than 1..{} sequences", part, kMaxBatch);
    }
    list.insert(list.end(), count, value);
  }
  return {};
}

bool all_equal(const std::vector<int>& list) {
  return std::equal(list.begin() + 1, list.end(), list.begin());
}

// One query length stands for every sequence, so that a uniform batch needs no list.
std::string print_s_q(const Case& c) {
  const std::vector<int>& s_q = c.problem.s_q;
  if (!all_equal(s_q)) return print_list(s_q);
  return s_q[0] == 1 ? "" : fmt::format("{}", s_q[0]);
}

template <auto Member, class T = std::remove_reference_t<decltype(Problem{}.*Member)>>
constexpr Key number_key(std::string_view name, std::string_view allows) {
  return {name, allows,
          [](const Case& c) {
            return c.problem.*Member == Problem{}.*Member ? std::string{}
                                                          : fmt::format("{}", c.problem.*Member);
          },
          [](std::string_view text, Case& c) -> std::string {
            T value{};
            if (!parse_number(text, value)) return fmt::format("'{}' is no such number", text);
            c.problem.*Member = value;
            return {};
          }};
}

template <auto Member, auto& kNames>
constexpr Key choice_key(std::string_view name, std::string_view allows) {
  return {name, allows,
          [](const Case& c) {
            return c.problem.*Member == Problem{}.*Member
                       ? std::string{}
                       : std::string{kNames[static_cast<int>(c.problem.*Member)]};
          },
          [](std::string_view text, Case& c) -> std::string {
            const auto found = std::find(kNames.begin(), kNames.end(), text);
            if (found == kNames.end()) return fmt::format("'{}' is none of these", text);
            c.problem.*Member = static_cast<std::remove_reference_t<decltype(c.problem.*Member)>>(
                found - kNames.begin());
            return {};
          }};
}

std::string parse_name(std::string_view text, std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), allowed)) {
    return fmt::format("'{}' is no name", text);
  }
  name = text;
  return {};
}

// Their meaning is checked where it is known, by fuzz/trajectories/.
std::string parse_steps(std::string_view text, std::string& steps) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == ',' || c == '+' ||
           c == '-';
  };
  if (text.empty() || !std::all_of(text.begin(), text.end(), allowed)) {
    return fmt::format("'{}' are no steps", text);
  }
  steps = text;
  return {};
}

std::string parse_seed(std::string_view text, Case& c) {
  if (parse_number(text, c.seed.value)) return {};
  return fmt::format("'{}' is no such number", text);
}

std::string parse_sched(std::string_view text, Case& c) {
  const auto schedule = parse_schedule(text);
  if (!schedule) return fmt::format("'{}' is no schedule", text);
  c.schedule = *schedule;
  return {};
}

constexpr std::array<std::string_view, 3> kPageOrders = {"shuffled", "sequential", "reversed"};
constexpr std::array<std::string_view, 2> kStorages = {"bf16", "fp8"};
constexpr std::array<std::string_view, 3> kGridOrders = {"auto", "split_minor", "split_major"};

// In canonical order. The kernel is always printed: a name without it would not say what failed.
const Key kKeys[] = {
    {"k", "the name of a kernel, see `attest list`", [](const Case& c) { return c.kernel; },
     [](std::string_view text, Case& c) { return parse_name(text, c.kernel); }},
    number_key<&Problem::h_q>("h", "query heads, 1..128"),
    {"s", "cached tokens of each sequence, 0..1048576: 1,63,4096x8",
     [](const Case& c) {
       return c.problem.s_kv == Problem{}.s_kv ? std::string{} : print_list(c.problem.s_kv);
     },
     [](std::string_view text, Case& c) { return parse_list(text, c.problem.s_kv); }},
    {"q", "query tokens of each sequence, 1..8: 2 for all, or a list 1,2x3", print_s_q,
     [](std::string_view text, Case& c) { return parse_list(text, c.problem.s_q); }},
    number_key<&Problem::page_size>("page", "tokens of a page: 1, 16 or 64"),
    number_key<&Problem::num_splits>("splits", "1..256, or 0 for the kernel's own rule"),
    number_key<&Problem::sm_scale>("scale", "the softmax scale, a finite number"),
    choice_key<&Problem::page_order, kPageOrders>("order", "shuffled, sequential or reversed"),
    choice_key<&Problem::grid_order, kGridOrders>("grid", "auto, split_minor or split_major"),
    number_key<&Problem::shared_prefix>("prefix",
                                        "tokens that all sequences share, a multiple of page"),
    number_key<&Problem::page_base>("base", "pages in front of the first used one"),
    number_key<&Problem::kv_indptr_start>("start",
                                          "entries of kv_indices before the first used one"),
    number_key<&Problem::q_pad>("qpad", "elements between two heads of q, a multiple of 8"),
    number_key<&Problem::o_pad>("opad", "elements between two heads of o, a multiple of 8"),
    choice_key<&Problem::q_type, kStorages>("qt", "bf16 or fp8: how q is stored"),
    choice_key<&Problem::kv_type, kStorages>("kvt", "bf16 or fp8: how the cache is stored"),
    number_key<&Problem::q_scale>("qscale", "the descale factor of an fp8 q, 1e-9..1e9"),
    number_key<&Problem::kv_scale>("kvscale", "the descale factor of an fp8 cache, 1e-9..1e9"),
    {"dist", "the name of a distribution, see `attest list`",
     [](const Case& c) { return c.distribution == Case{}.distribution ? "" : c.distribution; },
     [](std::string_view text, Case& c) { return parse_name(text, c.distribution); }},
    {"seed", "0..18446744073709551615",
     [](const Case& c) { return c.seed == Seed{} ? "" : fmt::format("{}", c.seed.value); },
     parse_seed},
    {"sched",
     "0..18446744073709551615, 0 in order; before it i: interleaved, d: and stores are late, o: "
     "order of arrival, l: the workgroup that comes last",
     [](const Case& c) { return c.schedule == Schedule{} ? "" : to_string(c.schedule); },
     parse_sched},
    {"prop", "the name of a property, see `attest list`",
     [](const Case& c) { return c.property == kOracle ? "" : c.property; },
     [](std::string_view text, Case& c) { return parse_name(text, c.property); }},
    {"steps", "the steps of a trajectory, joined by '.'", [](const Case& c) { return c.steps; },
     [](std::string_view text, Case& c) { return parse_steps(text, c.steps); }},
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const Key& nearest_key(std::string_view name) {
  return *std::min_element(std::begin(kKeys), std::end(kKeys), [&](const Key& a, const Key& b) {
    return edit_distance(a.name, name) < edit_distance(b.name, name);
  });
}

Trouble usage(std::string text) { return {TroubleKind::kUsage, "token: " + std::move(text)}; }

std::string all_keys() {
  std::string text;
  for (const Key& key : kKeys) text += fmt::format("{}{}", text.empty() ? "" : " ", key.name);
  return text;
}

// Takes one `key=value` into the case.
Outcome take_field(std::string_view field, Case& c, std::vector<std::string_view>& seen) {
  const std::size_t equals = field.find('=');
  if (equals == std::string_view::npos) {
    return usage(fmt::format("'{}' is no key=value (keys: {})", field, all_keys()));
  }
  const std::string_view name = field.substr(0, equals);
  const auto key = std::find_if(std::begin(kKeys), std::end(kKeys),
                                [&](const Key& k) { return k.name == name; });
  if (key == std::end(kKeys)) {
    return usage(fmt::format("unknown key '{}'; the nearest is '{}' ({}). All keys: {}", name,
                             nearest_key(name).name, nearest_key(name).allows, all_keys()));
  }
  if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
    return usage(fmt::format("key '{}' comes twice", name));
  }
  seen.push_back(name);
  if (const std::string why = key->parse(field.substr(equals + 1), c); !why.empty()) {
    return usage(fmt::format("key '{}': {}; it takes {}", name, why, key->allows));
  }
  return Done{};
}

}  // namespace

std::string to_token(const Case& c) {
  std::string token{kVersion};
  for (const Key& key : kKeys) {
    if (const std::string value = key.print(c); !value.empty()) {
      token += fmt::format(":{}={}", key.name, value);
    }
  }
  return token;
}

Result<Case> parse_token(std::string_view token) {
  std::vector<std::string_view> fields = split(token, ':'), seen;
  if (fields[0] != kVersion) {
    return usage(
        fmt::format("'{}' does not start with the version '{}:'", token.substr(0, 40), kVersion));
  }
  Case c;
  for (std::size_t i = 1; i < fields.size(); ++i) {
    if (const Outcome taken = take_field(fields[i], c, seen); !taken.ok()) return taken.trouble();
  }
  if (c.problem.s_q.size() == 1) c.problem.s_q.resize(c.problem.s_kv.size(), c.problem.s_q[0]);
  if (const std::string why = why_invalid(c.problem); !why.empty()) return usage(why);
  return c;
}

}  // namespace attest
