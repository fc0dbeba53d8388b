#include "harness/shard.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

constexpr int kMost = 1 << 20;  // of anything that is counted here

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_one = error == std::errc() && end == text.data() + text.size();
  return is_one && value >= 0 && value <= kMost ? std::optional{value} : std::nullopt;
}

constexpr std::string_view kInstead = "; `--shard 1/1` runs all of it";

std::optional<std::string> value_of(const Environment& environment, const std::string& name) {
  auto value = environment(name);
  return value && !value->empty() ? value : std::nullopt;
}

// The number of a variable that must be there because `because` is.
Result<int> required(const Environment& environment, const std::string& name,
                     std::string_view because) {
  const auto text = value_of(environment, name);
  if (!text) return usage(fmt::format("{} is set, but {} is not{}", because, name, kInstead));
  const std::optional<int> value = number(*text);
  if (!value) return usage(fmt::format("{}={} is no number from 0{}", name, *text, kInstead));
  return *value;
}

Result<Shard> of_option(const std::string& option) {
  const std::size_t slash = option.find('/');
  const auto text = std::string_view(option);
  const std::optional<int> i = number(text.substr(0, slash));
  const std::optional<int> n =
      slash == std::string::npos ? std::nullopt : number(text.substr(slash + 1));
  if (!i || !n || *i < 1 || *i > *n) {
    return usage(fmt::format(
        "--shard {} is no part of a whole; the first of eight is 1/8, the last 8/8", option));
  }
  return Shard{*i - 1, *n, "--shard"};
}

// An index and how many there are. No value: neither is set.
Result<std::optional<Shard>> of_pair(const Environment& environment, const std::string& index,
                                     const std::string& count) {
  const bool has_index = value_of(environment, index).has_value();
  if (!has_index && !value_of(environment, count)) return std::optional<Shard>{};
  const auto i = required(environment, index, count);
  if (!i.ok()) return i.trouble();
  const auto n = required(environment, count, index);
  if (!n.ok()) return n.trouble();
  if (*i >= *n) {
    return usage(fmt::format("{}={} is not below {}={}{}", index, *i, count, *n, kInstead));
  }
  return std::optional{Shard{*i, *n, index}};
}

const std::string kTaskId = "SLURM_ARRAY_TASK_ID";

// Step and last are taken as they follow from the rest where an older Slurm does not set them.
Result<std::optional<Shard>> of_slurm_array(const Environment& environment) {
  if (!value_of(environment, kTaskId)) return std::optional<Shard>{};
  int values[5] = {0, 0, 0, 1, 0};
  const std::string names[] = {kTaskId, "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT",
                               "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_MAX"};
  for (int i = 0; i < 5; ++i) {
    if (i == 4) values[4] = values[1] + (values[2] - 1) * values[3];
    if (i >= 3 && !value_of(environment, names[i])) continue;
    const auto value = required(environment, names[i], kTaskId);
    if (!value.ok()) return value.trouble();
    values[i] = *value;
  }
  const auto [id, first, count, step, last] = values;
  const bool has_no_gaps = count >= 1 && step >= 1 && last == first + (count - 1) * step &&
                           id >= first && id <= last && (id - first) % step == 0;
  if (!has_no_gaps) {
    return usage(
        fmt::format("{}={} of an array of {} tasks from {} to {} by {}: with gaps, it says "
                    "not which part this is: submit with --array=0-{}, or give --shard",
                    kTaskId, id, count, first, last, step, count > 1 ? count - 1 : 0));
  }
  return std::optional{Shard{(id - first) / step, count, kTaskId}};
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
}

Result<Shard> shard_of(const std::string& option, const Environment& environment) {
  if (!option.empty()) return of_option(option);
  const auto pair = [&](const char* index, const char* count) {
    return [=, &environment] { return of_pair(environment, index, count); };
  };
  const std::function<Result<std::optional<Shard>>()> sources[] = {
      pair("GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"),
      [&] { return of_slurm_array(environment); },
      pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
      pair("PMI_RANK", "PMI_SIZE"),
      [&]() -> Result<std::optional<Shard>> {
        if (!value_of(environment, "SLURM_STEP_NUM_TASKS")) return std::optional<Shard>{};
        return of_pair(environment, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
      },
  };
  for (const auto& source : sources) {
    const auto shard = source();
    if (!shard.ok()) return shard.trouble();
    if (*shard) return **shard;
  }
  return Shard{};
}

std::string job_of(const Environment& environment) {
  for (const char* name : {"SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID", "PMIX_NAMESPACE"}) {
    if (const auto value = value_of(environment, name)) return fmt::format("{}={}", name, *value);
  }
  const auto run = value_of(environment, "GITHUB_RUN_ID");
  if (!run) return "";
  return fmt::format("GITHUB_RUN_ID={}.{}", *run,
                     value_of(environment, "GITHUB_RUN_ATTEMPT").value_or("1"));
}

std::string to_text(const Shard& shard) {
  return shard.count == 1 ? "" : fmt::format("{}/{}", shard.index + 1, shard.count);
}

std::string what_it_is(const Shard& shard) {
  if (shard.count == 1) return "";
  return fmt::format("shard {} of {}, from {}", shard.index + 1, shard.count, shard.from);
}

Outcome show_that_shards_are_known(const Environment& environment) {
  const auto path = value_of(environment, "GTEST_SHARD_STATUS_FILE");
  if (!path) return Done{};
  std::FILE* const file = std::fopen(path->c_str(), "w");
  if (file != nullptr && std::fclose(file) == 0) return Done{};
  return Trouble{TroubleKind::kInfra,
                 fmt::format("GTEST_SHARD_STATUS_FILE={}: {}", *path, std::strerror(errno))};
}

PrematureExitFile::PrematureExitFile(const Environment& environment)
    : path_(value_of(environment, "TEST_PREMATURE_EXIT_FILE").value_or("")), owner_(getpid()) {
  if (path_.empty()) return;
  std::FILE* const file = std::fopen(path_.c_str(), "w");
  if (file != nullptr && std::fclose(file) == 0) return;
  trouble_ = fmt::format("TEST_PREMATURE_EXIT_FILE={}: {}", path_, std::strerror(errno));
}

PrematureExitFile::~PrematureExitFile() {
  if (!path_.empty() && owner_ == getpid()) unlink(path_.c_str());
}

}  // namespace attest
