// bench: how fast the emulator and the reference are, a core, with the machine and the command
// beside the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/machine.hpp"
#include "reference/bench_reference.hpp"

namespace attest {
namespace {

struct Row {
  std::string what;
  double tokens_per_s = 0;  // KV tokens, a core
  double ms = 0;
};

struct Table {
  std::string command, title;
  std::vector<Row> rows;
};

constexpr int kRepeats = 3;  // the best counts: others were disturbed

// One core: the device has one thread.
Result<Row> time_case(const CommonOptions& common, const std::string& token) {
  const Result<Case> c = known_case(token);
  if (!c.ok()) return c.trouble();
  const Kernel& kernel = *find_kernel(c->kernel);
  auto device = open_device(common.device, {.threads = 1});
  if (!device.ok()) return device.trouble();
  const auto inputs = generate(*c, walk_of(kernel, c->problem), common.threads);
  if (!inputs.ok()) return inputs.trouble();
  Row row{token, 0, 0};
  for (int i = 0; i < kRepeats; ++i) {
    const auto output = execute(kernel, **device, common.code_objects, *c, *inputs);
    if (!output.ok()) return output.trouble();
    row.ms = i == 0 ? output->kernel_ms : std::min(row.ms, output->kernel_ms);
  }
  row.tokens_per_s = static_cast<double>(c->problem.total_kv()) / row.ms * 1000;
  return row;
}

Result<Row> time_reference(int tokens) {
  Row row{fmt::format("one sequence of {} tokens, h = 16, with bounds", tokens), 0, 0};
  for (int i = 0; i < kRepeats; ++i) {
    const auto speed = bench_reference(tokens, 1);
    if (!speed.ok()) return speed.trouble();
    if (speed->tokens_per_s > row.tokens_per_s) {
      row.tokens_per_s = speed->tokens_per_s;
      row.ms = speed->seconds * 1000;
    }
  }
  return row;
}

std::string markdown(const Table& table) {
  std::string text =
      fmt::format("# {}\n\nMachine: {}. Command: `attest {}`. Best of {}, one thread.\n\n",
                  table.title, machine_text(), table.command, kRepeats);
  text += "| what | KV tokens/s a core | ms |\n|---|---:|---:|\n";
  for (const Row& row : table.rows)
    text += fmt::format("| `{}` | {:.0f} | {:.1f} |\n", row.what, row.tokens_per_s, row.ms);
  return text;
}

std::string as_json(const Table& table) {
  nlohmann::ordered_json json = {{"command", table.command},
                                 {"machine", machine_text()},
                                 {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : table.rows) {
    json["rows"].push_back(
        {{"what", row.what}, {"tokens_per_s_per_core", row.tokens_per_s}, {"ms", row.ms}});
  }
  return json.dump(2) + "\n";
}

int publish(const CommonOptions& common, const Table& table, const std::string& markdown_path) {
  fmt::print("{}", common.json ? as_json(table) : markdown(table));
  if (markdown_path.empty()) return 0;
  std::FILE* const file = std::fopen(markdown_path.c_str(), "w");
  const std::string text = markdown(table);
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if ((file != nullptr && std::fclose(file) != 0) || !written) {
    return report_trouble(
        {TroubleKind::kInfra, fmt::format("{}: {}", markdown_path, std::strerror(error))});
  }
  return 0;
}

}  // namespace

int command_bench_emulator(const CommonOptions& common, const std::string& markdown_path) {
  Table table{"bench emulator", fmt::format("Speed of {}", common.device), {}};
  for (const char* token :
       {"v1:k=mla_decode:s=16384:splits=16", "v1:k=mla_decode:s=16384:page=64:splits=16",
        "v1:k=mla_decode:s=16384:page=64:splits=1",
        "v1:k=mla_decode:h=12:s=16384:page=64:splits=16",
        "v1:k=mla_decode:h=64:s=4096:page=64:splits=8",
        "v1:k=mla_decode:h=128:s=4096:page=64:splits=8"}) {
    auto row = time_case(common, token);
    if (!row.ok()) return report_trouble(row.trouble());
    table.rows.push_back(*row);
  }
  return publish(common, table, markdown_path);
}

int command_bench_reference(const CommonOptions& common, const std::string& markdown_path) {
  Table table{"bench reference", "Speed of the fp64 reference", {}};
  for (const int tokens : {4096, 65536}) {
    auto row = time_reference(tokens);
    if (!row.ok()) return report_trouble(row.trouble());
    table.rows.push_back(*row);
  }
  return publish(common, table, markdown_path);
}

}  // namespace attest
