#include "harness/bench_kernels_instruments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "harness/bench.hpp"
#include "harness/core/code_object_file.hpp"
#include "harness/core/poison.hpp"
#include "kernels/bench/arguments.hpp"

namespace attest {
namespace {

using bench_device::kThreads;
constexpr std::int64_t kOctetBytes = 16;
constexpr std::int64_t kMostFillBlocks = 16384;

std::string object(const Device& device, const std::string& folder, const char* name) {
  return fmt::format("{}/{}", folder, code_object_file(name, device.target()));
}

Result<Function> find(Device& device, const std::string& path, const std::string& symbol) {
  const auto module = device.load_module(path);
  if (!module.ok()) return module.trouble();
  return device.function(*module, symbol);
}

std::int64_t blocks_for(std::int64_t octets, std::int64_t most) {
  return std::clamp<std::int64_t>((octets + kThreads - 1) / kThreads, 1, most);
}

Outcome launch(Device& device, Function function, std::int64_t blocks,
               const KernelArguments& arguments) {
  const LaunchConfig config{.grid = {static_cast<std::uint32_t>(blocks), 1, 1},
                            .block = {kThreads, 1, 1}};
  return device.launch(function, config, arguments);
}

struct Reader {
  Device& device;
  std::string path;
  Buffer from, sums;

  // The sum of all words, which every one of them must find.
  Result<std::uint32_t> sum(std::int64_t blocks) const {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(blocks * kThreads));
    const Outcome read = device.read(sums, 0, std::as_writable_bytes(std::span{words}));
    if (!read.ok()) return read.trouble();
    return std::accumulate(words.begin(), words.end(), std::uint32_t{0});
  }

  Result<ReadSpeed> time(std::int64_t blocks, int loads, int timings) const {
    const auto function = find(device, path, fmt::format("bench_read_{}", loads));
    if (!function.ok()) return function.trouble();
    const bench_device::ReadArguments arguments{
        .from = from.address,
        .sums = sums.address,
        .octets = static_cast<long long>(from.bytes) / kOctetBytes,
        .threads = blocks * kThreads};
    const auto times = time_work(device, 1, timings, [&] {
      return launch(device, *function, blocks, KernelArguments{}.add(arguments));
    });
    if (!times.ok()) return times.trouble();
    const auto bytes = static_cast<std::int64_t>(from.bytes);
    return ReadSpeed{static_cast<double>(bytes) / times->median_ms * 1e-6, bytes,
                     static_cast<int>(blocks), loads};
  }
};

constexpr std::int64_t kGrids[] = {1056, 2112, 4224, 8448, 16896, 33792, 135168};
constexpr int kLoads[] = {4, 8};

Result<ReadSpeed> fastest(const Reader& reader, int timings) {
  const std::int64_t octets = static_cast<std::int64_t>(reader.from.bytes) / kOctetBytes;
  ReadSpeed best;
  std::uint32_t first = 0;
  for (const std::int64_t grid : kGrids) {
    const std::int64_t blocks = blocks_for(octets, grid);
    for (const int loads : kLoads) {
      const auto speed = reader.time(blocks, loads, timings);
      if (!speed.ok()) return speed.trouble();
      const auto sum = reader.sum(blocks);
      if (!sum.ok()) return sum.trouble();
      if (best.blocks == 0) first = *sum;
      if (*sum != first || *sum == 0) {
        return Trouble{TroubleKind::kInfra,
                       fmt::format("{}: {} blocks, {} loads under way: the words read sum to "
                                   "{:#x}, those of another grid to {:#x}",
                                   reader.path, blocks, loads, *sum, first)};
      }
      if (speed->gb_per_s > best.gb_per_s) best = *speed;
    }
    if (blocks < grid) break;  // a larger grid would be the same one
  }
  return best;
}

}  // namespace

Outcome fill_on_device(Device& device, const std::string& code_objects, const Buffer& buffer,
                       std::uint64_t seed) {
  const auto function = find(device, object(device, code_objects, "bench_fill"), "bench_fill");
  if (!function.ok()) return function.trouble();
  const std::int64_t octets = static_cast<std::int64_t>(buffer.bytes) / kOctetBytes;
  const std::int64_t blocks = blocks_for(octets, kMostFillBlocks);
  return launch(
      device, *function, blocks,
      KernelArguments{}.add(bench_device::FillArguments{
          .to = buffer.address, .octets = octets, .threads = blocks * kThreads, .seed = seed}));
}

Result<ReadSpeed> bench_read(Device& device, const std::string& code_objects, std::int64_t bytes,
                             int timings) {
  Bench bench(device, kPoison16);
  Reader reader{device, object(device, code_objects, "bench_read"), {}, {}};
  const std::int64_t most_blocks = *std::max_element(std::begin(kGrids), std::end(kGrids));
  bench.allocate(reader.from, "read", static_cast<std::size_t>(bytes));
  bench.allocate(reader.sums, "sums",
                 static_cast<std::size_t>(blocks_for(bytes / kOctetBytes, most_blocks) * kThreads) *
                     sizeof(std::uint32_t));
  if (bench.failed()) return bench.trouble();
  bench.take(fill_on_device(device, code_objects, reader.from, 1));
  bench.take(device.synchronize());
  if (bench.failed()) return bench.trouble();
  return fastest(reader, timings);
}

Result<Times> time_work(Device& device, int warm_ups, int timings,
                        const std::function<Outcome()>& work) {
  for (int i = 0; i < warm_ups; ++i) {
    if (const Outcome done = work(); !done.ok()) return done.trouble();
  }
  if (const Outcome done = device.synchronize(); !done.ok()) return done.trouble();
  std::vector<double> all_ms;
  for (int i = 0; i < timings; ++i) {
    const auto ms = device.time_ms(work);
    if (!ms.ok()) return ms.trouble();
    all_ms.push_back(*ms);
  }
  std::sort(all_ms.begin(), all_ms.end());
  const std::size_t n = all_ms.size();
  return Times{(all_ms[(n - 1) / 2] + all_ms[n / 2]) / 2, all_ms.front(), all_ms.back()};
}

}  // namespace attest
