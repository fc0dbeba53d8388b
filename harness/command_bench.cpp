// bench: how fast the emulator and the reference are, a core, with the machine and the command
// beside the numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "harness/bench_gpu_reference.hpp"
#include "harness/bench_reference.hpp"
#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/machine.hpp"

namespace attest {
namespace {

struct Row {
  std::string what;
  double tokens_per_s = 0;  // KV tokens, a core
  double ms = 0;
  double times_plain = 0;  // of the plain work's time in the same run; 0: not of that kind
};

struct Table {
  std::string command, title;
  std::vector<Row> rows;
};

constexpr int kRepeats = 5;  // the best counts: others were disturbed

// One core: the device has one thread. Plain and with all checks in turn, so that what disturbs one
// disturbs both.
Outcome time_case(const CommonOptions& common, const std::string& token, Table& table) {
  const Result<Case> c = known_case(token);
  if (!c.ok()) return c.trouble();
  const Kernel& kernel = *find_kernel(c->kernel);
  const auto inputs = generate(*c, walk_of(kernel, c->problem), common.threads);
  if (!inputs.ok()) return inputs.trouble();
  std::array<std::unique_ptr<Device>, 2> devices;
  std::array<Row, 2> rows = {Row{token}, Row{token + " --check"}};
  for (std::size_t kind = 0; kind < devices.size(); ++kind) {
    auto device = open_device(common.device,
                              {.threads = 1, .checks = kind == 0 ? CheckSet{} : CheckSet::all()});
    if (!device.ok()) return device.trouble();
    devices[kind] = std::move(*device);
  }
  for (int i = 0; i < kRepeats; ++i) {
    for (std::size_t kind = 0; kind < devices.size(); ++kind) {
      const auto output = execute(kernel, *devices[kind], common.code_objects, *c, *inputs);
      if (!output.ok()) return output.trouble();
      Row& row = rows[kind];
      row.ms = i == 0 ? output->kernel_ms : std::min(row.ms, output->kernel_ms);
    }
  }
  for (Row& row : rows) {
    row.tokens_per_s = static_cast<double>(c->problem.total_kv()) / row.ms * 1000;
    row.times_plain = row.ms / rows[0].ms;
    table.rows.push_back(row);
  }
  return Done{};
}

// Every kind of work in turn, so that what disturbs one run disturbs all of them; the best counts.
Outcome time_reference(int tokens, int num_splits, Table& table) {
  const std::size_t first = table.rows.size();
  for (const ReferenceWork work : kReferenceWorks) {
    table.rows.push_back(
        {fmt::format("{} tokens, {} splits: {}", tokens, num_splits, to_string(work)), 0, 0});
  }
  for (int i = 0; i < kRepeats; ++i) {
    for (std::size_t w = 0; w < std::size(kReferenceWorks); ++w) {
      const auto speed = bench_reference(kReferenceWorks[w], tokens, num_splits, 1);
      if (!speed.ok()) return speed.trouble();
      Row& row = table.rows[first + w];
      if (speed->tokens_per_s <= row.tokens_per_s) continue;
      row.tokens_per_s = speed->tokens_per_s;
      row.ms = speed->seconds * 1000;
    }
  }
  for (std::size_t w = 0; w < std::size(kReferenceWorks); ++w)
    table.rows[first + w].times_plain = table.rows[first + w].ms / table.rows[first].ms;
  return Done{};
}

std::string markdown(const Table& table) {
  std::string text =
      fmt::format("# {}\n\nMachine: {}. Command: `attest {}`. Best of {}, one thread.\n\n",
                  table.title, machine_text(), table.command, kRepeats);
  const bool ratios = !table.rows.empty() && table.rows[0].times_plain > 0;
  text += fmt::format("| what | KV tokens/s a core | ms |{}\n|---|---:|---:|{}\n",
                      ratios ? " times plain |" : "", ratios ? "---:|" : "");
  for (const Row& row : table.rows) {
    text += fmt::format("| `{}` | {:.0f} | {:.1f} |", row.what, row.tokens_per_s, row.ms);
    text += ratios ? fmt::format(" {:.2f} |\n", row.times_plain) : "\n";
  }
  return text;
}

std::string as_json(const Table& table) {
  nlohmann::ordered_json json = {{"command", table.command},
                                 {"machine", machine_text()},
                                 {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : table.rows) {
    json["rows"].push_back(
        {{"what", row.what}, {"tokens_per_s_per_core", row.tokens_per_s}, {"ms", row.ms}});
    if (row.times_plain > 0) json["rows"].back()["times_plain"] = row.times_plain;
  }
  return json.dump(2) + "\n";
}

int publish(const CommonOptions& common, const Table& table, const std::string& markdown_path) {
  fmt::print("{}", common.json ? as_json(table) : markdown(table));
  return write_report(markdown_path, markdown(table));
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
    const Outcome timed = time_case(common, token, table);
    if (!timed.ok()) return report_trouble(timed.trouble());
  }
  return publish(common, table, markdown_path);
}

int command_bench_reference(const CommonOptions& common, const std::string& markdown_path) {
  if (!common.device.starts_with("emu:") || common.reference == "device")
    return command_bench_gpu_reference(common, markdown_path);
  Table table{"bench reference", "Speed of the fp64 reference (one sequence, h = 16)", {}};
  for (const auto [tokens, splits] : {std::pair{4096, 4}, {65536, 1}, {65536, 64}}) {
    const Outcome timed = time_reference(tokens, splits, table);
    if (!timed.ok()) return report_trouble(timed.trouble());
  }
  return publish(common, table, markdown_path);
}

}  // namespace attest
