#include "harness/bench_kernels_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

namespace attest {
namespace {

struct PeerTime {
  int h_q, s_kv, b;
  double us;
};

// Source: FlashMLA dense decode, commit 9241ae3, bf16, page 64, s_q 1, kernel and combine, measured
// on one H200 with CUDA 13.0, driver 580: medians of 20 launches, inputs rotated beyond L2.
constexpr PeerTime kPeer[] = {
    {16, 1024, 1, 22},      {16, 1024, 8, 24},     {16, 1024, 32, 32},     {16, 1024, 64, 42},
    {16, 1024, 128, 53},    {16, 8192, 1, 35},     {16, 8192, 8, 42},      {16, 8192, 32, 93},
    {16, 8192, 64, 161},    {16, 8192, 128, 294},  {16, 65536, 1, 63},     {16, 65536, 8, 163},
    {16, 65536, 32, 573},   {16, 65536, 64, 1123}, {16, 65536, 128, 2222}, {64, 8192, 1, 41},
    {64, 8192, 8, 51},      {64, 8192, 32, 103},   {64, 8192, 64, 176},    {64, 8192, 128, 301},
    {64, 65536, 1, 68},     {64, 65536, 8, 174},   {64, 65536, 32, 610},   {64, 65536, 64, 1181},
    {64, 65536, 128, 2348}, {128, 1024, 1, 28},    {128, 1024, 8, 33},     {128, 1024, 32, 52},
    {128, 1024, 64, 55},    {128, 1024, 128, 97},  {128, 8192, 1, 42},     {128, 8192, 8, 71},
    {128, 8192, 32, 145},   {128, 8192, 64, 250},  {128, 8192, 128, 475},  {128, 65536, 1, 65},
    {128, 65536, 8, 240},   {128, 65536, 32, 865}, {128, 65536, 64, 1714}, {128, 65536, 128, 3908}};

bool has_speed(const KernelSpeed& row) { return row.verdict.status == Status::kPassed; }

double share_of_read(const KernelBenchReport& report, const KernelSpeed& row) {
  return row.gb_per_s / report.read.gb_per_s;
}

}  // namespace

std::optional<double> peer_us(const BenchPoint& point) {
  for (const PeerTime& peer : kPeer) {
    if (peer.h_q == point.h_q && peer.s_kv == point.s_kv && peer.b == point.b) return peer.us;
  }
  return std::nullopt;
}

bool has_peer(const KernelBenchReport& report) {
  return report.hardware.find("H200") != std::string::npos && report.options.page_size == 64;
}

std::string markdown_head(const KernelBenchReport& report) {
  const KernelBenchOptions& options = report.options;
  std::string text = fmt::format(
      "# Speed of {} on {} ({})\n\nHost: {}. Command: `attest {}`. bf16, page size {}, one query "
      "token a sequence.\n\n",
      report.kernel, report.hardware, report.device, report.machine, report.command,
      options.page_size);
  text += fmt::format(
      "A time is a launch's share of a graph of at least {} launches, which go round at least two "
      "sets of inputs and {} MB of them: median of {} replays. GB/s counts KV rows once, q, o and "
      "lse; TFLOP/s 2 b h s (576 + 512). One sequence of each point is judged as verification "
      "judges it: what does not pass has no speed. Stages: each launched alone.\n\n",
      options.launches, options.distinct_bytes / 1000000, options.timings);
  text += fmt::format(
      "Reading {} MB and doing nothing else: {:.4g} GB/s ({} blocks, {} loads a thread under "
      "way).\n\n",
      report.read.bytes / 1000000, report.read.gb_per_s, report.read.blocks, report.read.loads);
  const bool peer = has_peer(report);
  text += fmt::format(
      "| h | s_kv | b | splits | us | us least..most | stages us | GB/s | of read | TFLOP/s |{}"
      " verdict |\n",
      peer ? " peer us | times peer |" : "");
  return text + fmt::format("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|{}---|\n",
                            peer ? "---:|---:|" : "");
}

std::string markdown_row(const KernelBenchReport& report, const KernelSpeed& row) {
  std::string text = fmt::format("| {} | {} | {} | {} |", row.point.h_q, row.point.s_kv,
                                 row.point.b, row.num_splits);
  if (has_speed(row)) {
    text += fmt::format(" {:.1f} | {:.1f}..{:.1f} | {:.1f} | {:.4g} | {:.2f} | {:.4g} |", row.us,
                        row.us_least, row.us_most, fmt::join(row.stage_us, " + "), row.gb_per_s,
                        share_of_read(report, row), row.tflops);
  } else {
    text += " - | - | - | - | - | - |";
  }
  if (has_peer(report)) {
    const auto peer = peer_us(row.point);
    text += peer ? fmt::format(" {:.0f} |", *peer) : " - |";
    text += peer && has_speed(row) ? fmt::format(" {:.2f} |", row.us / *peer) : " - |";
  }
  const std::string reason = has_speed(row) ? "" : ": " + row.verdict.reason;
  return text + fmt::format(" {}{} |\n", to_string(row.verdict.status), reason);
}

std::string markdown_foot(const KernelBenchReport& report) {
  if (!has_peer(report)) return "";
  return "\nPeer: FlashMLA dense decode, commit 9241ae3, measured on one H200, CUDA 13.0, driver "
         "580; kernel and combine, medians of 20 launches, inputs rotated beyond L2.\n";
}

std::string markdown(const KernelBenchReport& report) {
  std::string text = markdown_head(report);
  for (const KernelSpeed& row : report.rows) text += markdown_row(report, row);
  return text + markdown_foot(report);
}

std::string as_json(const KernelBenchReport& report) {
  nlohmann::ordered_json json = {{"command", report.command},
                                 {"kernel", report.kernel},
                                 {"device", report.device},
                                 {"hardware", report.hardware},
                                 {"machine", report.machine},
                                 {"page_size", report.options.page_size},
                                 {"read",
                                  {{"gb_per_s", report.read.gb_per_s},
                                   {"bytes", report.read.bytes},
                                   {"blocks", report.read.blocks},
                                   {"loads", report.read.loads}}},
                                 {"rows", nlohmann::ordered_json::array()}};
  for (const KernelSpeed& row : report.rows) {
    nlohmann::ordered_json one = {{"h", row.point.h_q},
                                  {"s_kv", row.point.s_kv},
                                  {"b", row.point.b},
                                  {"splits", row.num_splits},
                                  {"sets", row.sets},
                                  {"launches", row.launches},
                                  {"status", to_string(row.verdict.status)}};
    if (has_speed(row)) {
      one.update({{"us", row.us},
                  {"us_least", row.us_least},
                  {"us_most", row.us_most},
                  {"stage_us", row.stage_us},
                  {"gb_per_s", row.gb_per_s},
                  {"of_read", share_of_read(report, row)},
                  {"tflops", row.tflops}});
    } else {
      one["reason"] = row.verdict.reason;
    }
    const auto peer = peer_us(row.point);
    if (has_peer(report) && peer) one["peer_us"] = *peer;
    json["rows"].push_back(std::move(one));
  }
  return json.dump(2) + "\n";
}

}  // namespace attest
