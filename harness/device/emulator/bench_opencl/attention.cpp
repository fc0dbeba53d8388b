// Runs attention.cl's code object in the emulator, on the same inputs as Oclgrind is given:
//   opencl_attention FILE.co TOKENS CHECKS REPEATS
// Prints CPU seconds of the fastest launch, and each report of a check.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "harness/device/emulator/emulator_device.hpp"

namespace attest {
namespace {

constexpr std::size_t kHeads = 4, kColumns = 64;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Ends the program: there is nothing to measure.
template <class T>
T must(Result<T> result) {
  if (result.ok()) return *result;
  fmt::print(stderr, "opencl_attention: {}\n", result.trouble().text);
  std::exit(4);
}

Buffer filled(Device& device, const char* label, std::size_t floats, float value) {
  const std::vector<float> values(floats, value);
  const Buffer buffer = must(device.allocate(label, floats * 4, 0));
  must(device.write(buffer, 0, std::as_bytes(std::span(values))));
  return buffer;
}

int run(const std::string& code_object, std::size_t tokens, std::string_view checks, int repeats) {
  const auto device =
      emulator::make_device("gfx942", {.threads = 1, .checks = must(parse_checks(checks))});
  const Function kernel =
      must(device->function(must(device->load_module(code_object)), "attention"));
  const std::size_t rows = std::max<std::size_t>(kHeads * tokens, 1);
  const Buffer o = filled(*device, "o", kHeads * kColumns, -1);
  KernelArguments arguments;
  arguments.add(filled(*device, "q", kHeads * kColumns, 0.5f).address)
      .add(filled(*device, "k", rows * kColumns, 0.25f).address)
      .add(filled(*device, "v", rows * kColumns, 2).address)
      .add(o.address)
      .add(static_cast<std::int32_t>(tokens));
  double fastest = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const double begin = cpu_seconds();
    must(device->launch(kernel, {{kHeads}, {128}, 0}, arguments));
    must(device->synchronize());
    fastest = std::min(fastest, cpu_seconds() - begin);
  }
  std::vector<float> out(kHeads * kColumns);
  must(device->read(o, 0, std::as_writable_bytes(std::span(out))));
  for (const float x : out) {
    if (tokens > 0 && x != 2) {
      fmt::print(stderr, "opencl_attention: o holds {} where the mean of v is 2\n", x);
      return 1;
    }
  }
  for (const CheckReport& report : device->take_reports()) fmt::print("{}\n", to_string(report));
  fmt::print("seconds {:.6f}\n", fastest);
  return 0;
}

}  // namespace
}  // namespace attest

int main(int count, char** argument) {
  if (count != 5) {
    fmt::print(stderr, "usage: opencl_attention FILE.co TOKENS CHECKS REPEATS\n");
    return 2;
  }
  return attest::run(argument[1], std::strtoul(argument[2], nullptr, 10), argument[3],
                     std::atoi(argument[4]));
}
