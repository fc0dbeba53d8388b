// The table of `attest bench kernels`, as Markdown and as JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "harness/bench_kernels.hpp"
#include "harness/bench_kernels_instruments.hpp"

namespace attest {

struct KernelBenchReport {
  std::string kernel, device, hardware, machine, command;
  KernelBenchOptions options;
  ReadSpeed read;
  std::vector<KernelSpeed> rows = {};
};

// Microseconds of a launch of FlashMLA's dense decode on an H200 at a point; none: not measured.
std::optional<double> peer_us(const BenchPoint& point);
// Whether the peer's column has a place: on the hardware that it was measured on.
bool has_peer(const KernelBenchReport& report);

// A report is a head, a row a point, and a foot; each ends with a newline.
std::string markdown_head(const KernelBenchReport& report);
std::string markdown_row(const KernelBenchReport& report, const KernelSpeed& row);
std::string markdown_foot(const KernelBenchReport& report);
std::string markdown(const KernelBenchReport& report);  // all three
std::string as_json(const KernelBenchReport& report);

}  // namespace attest
