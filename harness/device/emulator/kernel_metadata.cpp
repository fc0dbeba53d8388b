#include "harness/device/emulator/kernel_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

namespace attest::emulator {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 32;  // kernels' metadata has 5 levels
constexpr std::size_t kMaxName = 4096;

// Stops at too many levels: the decoder calls itself once a level, so that a hostile note would
// otherwise run through the stack.
class DepthLimit final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_, true; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_array() override { return --depth_, true; }
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    error_at = position;
    return false;
  }
  std::size_t error_at = 0;

 private:
  int depth_ = 0;
};

// 0 when the key is missing; the largest number when the value does not fit, which no limit allows.
std::uint32_t number(const json& map, const char* key) {
  const auto found = map.find(key);
  if (found == map.end() || !found->is_number_unsigned()) return 0;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  return static_cast<std::uint32_t>(std::min(found->get<std::uint64_t>(), kMost));
}

std::string text(const json& map, const char* key) {
  const auto found = map.find(key);
  return found != map.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool flag(const json& map, const char* key) {
  const auto found = map.find(key);
  return found != map.end() && found->is_boolean() && found->get<bool>();
}

// Names go to terminals and reports.
bool printable(const std::string& name) {
  return name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

// Empty, or what is wrong with the arguments.
std::string read_arguments(const json& entry, KernelInfo& kernel) {
  const auto arguments = entry.find(".args");
  if (arguments == entry.end()) return {};
  if (!arguments->is_array()) return fmt::format("kernel {}: .args is no array", kernel.name);
  for (const json& a : *arguments) {
    if (!a.is_object()) return fmt::format("kernel {}: an argument is no map", kernel.name);
    ArgumentInfo argument{number(a, ".offset"), number(a, ".size"), text(a, ".value_kind"),
                          text(a, ".name")};
    if (argument.offset > kMaxKernargBytes || argument.size > kMaxKernargBytes) {
      return fmt::format("kernel {}: argument {} of {} bytes at {} cannot be", kernel.name,
                         kernel.arguments.size(), argument.size, argument.offset);
    }
    if (!printable(argument.name) || !printable(argument.value_kind)) {
      return fmt::format("kernel {}: argument {} has a name with bytes that no name has",
                         kernel.name, kernel.arguments.size());
    }
    kernel.arguments.push_back(std::move(argument));
  }
  return {};
}

std::string read_kernel(const json& entry, KernelMetadata& kernel) {
  if (!entry.is_object()) return "a kernel's metadata is no map";
  KernelInfo& info = kernel.info;
  info.name = text(entry, ".name");
  kernel.symbol = text(entry, ".symbol");
  if (info.name.empty() || !printable(info.name) || !printable(kernel.symbol)) {
    return "a kernel has no name, or one with bytes that no name has";
  }
  info.vgpr_count = number(entry, ".vgpr_count");
  info.agpr_count = number(entry, ".agpr_count");
  info.sgpr_count = number(entry, ".sgpr_count");
  info.vgpr_spill_count = number(entry, ".vgpr_spill_count");
  info.sgpr_spill_count = number(entry, ".sgpr_spill_count");
  info.max_workgroup_size = number(entry, ".max_flat_workgroup_size");
  info.uses_dynamic_stack = flag(entry, ".uses_dynamic_stack");
  const std::uint32_t wave = number(entry, ".wavefront_size");
  if (wave != 0 && wave != 64) {
    return fmt::format("kernel {}: waves of {} lanes, not 64", info.name, wave);
  }
  return read_arguments(entry, info);
}

}  // namespace

std::variant<std::vector<KernelMetadata>, std::string> parse_kernel_metadata(
    std::span<const std::byte> note) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(note.data());
  const auto* end = begin + note.size();
  DepthLimit limit;
  if (!json::sax_parse(begin, end, &limit, json::input_format_t::msgpack)) {
    return limit.error_at ? fmt::format("byte {} of it is no msgpack", limit.error_at)
                          : fmt::format("it has more than {} levels", kMaxDepth);
  }
  const json metadata = json::from_msgpack(begin, end, true, false);
  const auto kernels = metadata.is_object() ? metadata.find("amdhsa.kernels") : metadata.end();
  if (kernels == metadata.end() || !kernels->is_array()) return "it is no map with amdhsa.kernels";
  std::vector<KernelMetadata> result;
  for (const json& entry : *kernels) {
    KernelMetadata kernel;
    if (std::string why = read_kernel(entry, kernel); !why.empty()) return why;
    result.push_back(std::move(kernel));
  }
  return result;
}

}  // namespace attest::emulator
