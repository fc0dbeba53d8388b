#include "harness/exchange.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "fuzz/distributions/distribution.hpp"
#include "golden/hdf5_file.hpp"
#include "harness/evidence.hpp"
#include "harness/generate.hpp"
#include "harness/input_tensors.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/second_look.hpp"

namespace attest {
namespace {

constexpr const char* kFormat = "attest exchange 1";
constexpr std::size_t kMaxCacheBytes = std::size_t{4} << 30;

using Shape = std::vector<std::uint64_t>;

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

std::string why_no_exchange(const Case& c) {
  if (!c.steps.empty()) return "steps= is many launches; a file holds one";
  if (c.property != kOracle) return "prop= is a relation between launches; a file holds one";
  const std::int64_t pages = c.problem.page_base + c.problem.total_kv() / c.problem.page_size + 1;
  const std::int64_t bytes =
      pages * c.problem.page_size * kDQk * bytes_of_element(c.problem.kv_type);
  if (bytes > static_cast<std::int64_t>(kMaxCacheBytes))
    return fmt::format("its cache has {} bytes, more than {}: lower base= or s=", bytes,
                       kMaxCacheBytes);
  return {};
}

Result<Inputs> inputs_of(const Case& c, int threads) {
  const Kernel* const kernel = find_kernel(c.kernel);
  return generate(c, walk_of(*kernel, c.problem), threads);
}

Attributes attributes_of(const Case& c) {
  const Problem& p = c.problem;
  return {{"format", std::string(kFormat)},
          {"token", to_token(c)},
          {"sm_scale", double{p.sm_scale}},
          {"page_size", std::int64_t{p.page_size}},
          {"h_q", std::int64_t{p.h_q}},
          {"d_v", std::int64_t{kDV}},
          {"causal", std::string("query token i of s_q sees the first s_kv - s_q + i + 1 tokens")},
          {"empty_row", std::string("a query token that sees no token has o = 0 and lse = -inf")}};
}

std::uint64_t elements_of(const Shape& shape) {
  std::uint64_t elements = 1;
  for (const std::uint64_t n : shape) elements *= n;
  return elements;
}

// A dataset of outputs as bits of `bytes` a number.
Outcome read_output(const Hdf5File& file, const std::string& path, const char* name, Number type,
                    const Shape& shape, void* to) {
  const auto tensor = file.read(name, elements_of(shape));
  if (!tensor.ok()) return tensor.trouble();
  const bool same_bits = type == Number::kU16
                             ? tensor->type == Number::kU16
                             : tensor->type == Number::kF32 || tensor->type == Number::kU32;
  if (!same_bits || tensor->shape != shape) {
    return usage(fmt::format("{}: {} has the shape {} of {}; it is to have {} of {}", path, name,
                             tensor->shape, same_bits ? "the right type" : "another type", shape,
                             type == Number::kU16 ? "16-bit integers that hold bf16" : "float32"));
  }
  std::memcpy(to, tensor->bytes.data(), tensor->bytes.size());
  return Done{};
}

// Inputs that the kernel changed in place, or that are not what the token says.
Outcome compare_inputs(const Hdf5File& file, const std::vector<InputTensor>& wanted,
                       Output& output) {
  for (const InputTensor& input : wanted) {
    const auto tensor = file.read("inputs/" + input.name, elements_of(input.shape));
    if (!tensor.ok()) return tensor.trouble();
    if (tensor->bytes.size() == input.bytes.size() &&
        std::memcmp(tensor->bytes.data(), input.bytes.data(), input.bytes.size()) == 0)
      continue;
    output.damage.push_back(
        fmt::format("changed its input {}: the file's is not the token's", input.name));
  }
  return Done{};
}

Result<Output> read_outputs(const Hdf5File& file, const std::string& path, const Problem& p) {
  Output output;
  output.o.resize(static_cast<std::size_t>(p.rows() * kDV));
  output.lse.resize(static_cast<std::size_t>(p.rows()));
  const auto rows = static_cast<std::uint64_t>(p.total_q()),
             heads = static_cast<std::uint64_t>(p.h_q);
  if (const Outcome o =
          read_output(file, path, "outputs/o", Number::kU16, {rows, heads, kDV}, output.o.data());
      !o.ok())
    return o.trouble();
  if (const Outcome lse =
          read_output(file, path, "outputs/lse", Number::kF32, {rows, heads}, output.lse.data());
      !lse.ok())
    return lse.trouble();
  return output;
}

}  // namespace

Result<Case> exported_case(const Hdf5File& file, const std::string& path) {
  const auto format = file.text_attribute("format");
  if (!format.ok() || *format != kFormat)
    return usage(fmt::format("{}: no file of `attest export`, or of another version", path));
  const auto token = file.text_attribute("token");
  if (!token.ok()) return token.trouble();
  const auto c = parse_token(*token);
  if (!c.ok()) return usage(fmt::format("{}: {}", path, c.trouble().text));
  if (!find_kernel(c->kernel) || !find_distribution(c->distribution))
    return usage(
        fmt::format("{}: {} names a kernel or a distribution that is not here", path, *token));
  return c;
}

Outcome export_case(const Case& c, const std::string& path, int threads) {
  if (const std::string why = why_no_exchange(c); !why.empty())
    return usage(fmt::format("{}: {}", to_token(c), why));
  const auto inputs = inputs_of(c, threads);
  if (!inputs.ok()) return inputs.trouble();
  auto file = Hdf5File::create(path);
  if (!file.ok()) return file.trouble();
  if (const Outcome o = (*file)->write_attributes(attributes_of(c)); !o.ok()) return o;
  for (const InputTensor& input : input_tensors(c.problem, *inputs)) {
    const Outcome o = (*file)->write("inputs/" + input.name, input.type, input.shape,
                                     input.bytes.data(), {{"dtype", input.dtype}});
    if (!o.ok()) return o;
  }
  return (*file)->close();
}

Result<Contract> contract_of(const ForeignKernel& kernel) {
  Contract contract;
  Arithmetic& a = contract.arithmetic;
  // v_exp_f32, ex2.approx and what libraries build on them: 2 ulp; the final quotient as for ours.
  a = {.matrix_unit = kernel.unit, .exp_ulp = 2, .log_ulp = 2, .divide_u = 3};
  a.waves_per_split = kernel.internal_splits;
  a.tile_tokens = kernel.tile;
  if (kernel.p == "fp32") {
    a.p_bits = 24;
  } else if (kernel.p == "fp16") {
    a.p_bits = 11, a.p_min_exponent = -14, a.p_largest = 65504;
  } else if (kernel.p == "fp8_fnuz") {
    a.p_bits = 4, a.p_min_exponent = -7, a.p_largest = 240;
  } else if (kernel.p == "fp8_fn") {
    a.p_bits = 4, a.p_min_exponent = -6, a.p_largest = 448;
  } else if (kernel.p == "fp8") {
    return usage(
        "'fp8' is two formats of P: fp8_fnuz (e4m3fnuz, up to 240: CDNA3) and fp8_fn (e4m3fn, up "
        "to 448: Hopper)");
  } else if (kernel.p != "bf16") {
    return usage(fmt::format(
        "'{}' is no format of P; there are: fp32, bf16, fp16, fp8_fnuz, fp8_fn", kernel.p));
  }
  return contract;
}

Result<ForeignVerdict> judge_file(const std::string& inputs_path, const std::string& outputs_path,
                                  const ForeignKernel& kernel, int threads) {
  auto contract = contract_of(kernel);
  if (!contract.ok()) return contract.trouble();
  const auto file = Hdf5File::open(inputs_path);
  if (!file.ok()) return file.trouble();
  const auto c = exported_case(**file, inputs_path);
  if (!c.ok()) return c.trouble();
  contract->arithmetic.matrix_unit = unit_for(kernel.unit, c->problem.q_type);
  const auto inputs = inputs_of(*c, threads);
  if (!inputs.ok()) return inputs.trouble();

  const std::string& path = outputs_path.empty() ? inputs_path : outputs_path;
  const auto brought = Hdf5File::open(path);
  if (!brought.ok()) return brought.trouble();
  auto output = read_outputs(**brought, path, c->problem);
  if (!output.ok()) return output.trouble();
  if (const Outcome o = compare_inputs(**file, input_tensors(c->problem, *inputs), *output);
      !o.ok())
    return o.trouble();

  const Subject subject{kernel.name, c->problem, *contract, 1,
                        find_distribution(c->distribution)->blind_to()};
  const VerifyOptions options{.code_objects = {}, .threads = threads};
  auto judged = oracle_verdict(subject, *inputs, *output, options);
  if (!judged.ok()) return judged.trouble();
  prove(subject, *inputs, *output, judged->wanted, judged->verdict);
  certify_pass(subject, *inputs, *output, judged->wanted, c->seed.value, threads, judged->verdict);
  return ForeignVerdict{*c, std::move(judged->verdict)};
}

}  // namespace attest
