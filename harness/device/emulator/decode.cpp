#include <fmt/format.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>

#include "harness/device/emulator/decode_text.hpp"
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {
namespace {

const std::map<std::string, Semantics, std::less<>>& table() {
  static const auto* joined = [] {
    auto* all = new std::map<std::string, Semantics, std::less<>>;
    for (auto list : {scalar_semantics(), control_semantics(), vector_integer_semantics(),
                      vector_float_semantics(), vector_double_semantics(), vector_fp8_semantics(),
                      vector_dot_semantics(), vector_compare_semantics(), vector_packed_semantics(),
                      lane_semantics(), lds_semantics(), global_semantics(), buffer_semantics(),
                      matrix_semantics(), index_semantics()}) {
      for (const Semantics& entry : list) all->emplace(std::string(entry.mnemonic), entry);
    }
    return all;
  }();
  return *joined;
}

Flow unimplemented(Wave& w, const Inst& in) {
  return fault(w, in, "the emulator has no semantics for this instruction");
}

// An LLVM disassembler for one target; creation is not cheap, and the C API asks for one user at a
// time.
class Disassembler {
 public:
  explicit Disassembler(std::string_view target) {
    static std::once_flag once;
    std::call_once(once, [] {
      LLVMInitializeAMDGPUTargetInfo();
      LLVMInitializeAMDGPUTargetMC();
      LLVMInitializeAMDGPUDisassembler();
    });
    context_ = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", std::string(target).c_str(), nullptr, 0,
                                   nullptr, nullptr);
    if (context_) LLVMSetDisasmOptions(context_, LLVMDisassembler_Option_PrintImmHex);
  }
  ~Disassembler() {
    if (context_) LLVMDisasmDispose(context_);
  }
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;
  bool ok() const { return context_ != nullptr; }
  // Bytes of the instruction, 0 when undecodable.
  std::size_t next(std::span<const std::byte> code, std::uint64_t pc, std::string* text) {
    char buffer[256] = {};
    auto* bytes = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(code.data()));
    const std::size_t size =
        LLVMDisasmInstruction(context_, bytes, code.size(), pc, buffer, sizeof buffer);
    *text = buffer;
    return size;
  }

 private:
  LLVMDisasmContextRef context_ = nullptr;
};

const std::uint32_t* constant_row(Program& program, std::uint32_t value) {
  for (const auto& row : program.rows) {
    if (row->lane[0] == value) return row->lane.data();
  }
  program.rows.push_back(std::make_unique<ConstantRow>());
  program.rows.back()->lane.fill(value);
  return program.rows.back()->lane.data();
}

bool is_float32(std::string_view mnemonic, const Inst& in) {
  return in.type == Type::kB32 && mnemonic.find("_f32") != mnemonic.npos;
}

// The 16-bit instructions of VOP3 pick halves with op_sel; those listed do so themselves.
void select_halves(std::string_view mnemonic, Inst& in) {
  for (std::string_view own : {"v_pk_", "v_dot", "v_fma_mix", "v_cvt_pk_fp8", "v_cvt_pk_bf8",
                               "v_cvt_sr_fp8", "v_cvt_sr_bf8"}) {
    if (mnemonic.starts_with(own)) return;
  }
  if (in.op_sel == 0 || in.operands == 0) return;
  const int sources = in.operands - 1;  // the bit after theirs is the destination's
  in.half_select = static_cast<std::uint8_t>(in.op_sel & ((1 << sources) - 1));
  in.high_result = in.op_sel >> sources & 1;
}

void finish(Program& program, std::string_view mnemonic, Inst& in) {
  const auto found = table().find(mnemonic);
  in.run = found == table().end() ? unimplemented : found->second.run;
  if (found != table().end()) {
    in.type = found->second.type;
    in.float_result = found->second.float_result;
  }
  if (mnemonic.find("_co_") != mnemonic.npos || mnemonic.starts_with("v_div_scale") ||
      mnemonic.starts_with("v_mad_u64") || mnemonic.starts_with("v_mad_i64"))
    in.first_source = 2;
  if (is_float32(mnemonic, in)) in.type = Type::kF32;
  in.result = in.type;
  for (const auto& [prefix, type] : {std::pair{"v_cvt_f16_", Type::kF16},
                                     {"v_cvt_f32_", Type::kF32},
                                     {"v_cvt_f64_", Type::kF64}}) {
    if (mnemonic.starts_with(prefix)) in.result = type;
  }
  select_halves(mnemonic, in);
  in.plain =
      !in.sdwa && !in.dpp && !in.clamp && in.omod == 0 && in.half_select == 0 && !in.high_result;
  for (Operand& op : in.op) {
    in.plain = in.plain && !op.neg && !op.abs && !op.sext;
    if (op.kind != Operand::Kind::kConstant) continue;
    op.row = constant_row(program, static_cast<std::uint32_t>(op.value));
    op.row_high = constant_row(program, static_cast<std::uint32_t>(op.value >> 32));
  }
}

Trouble undecodable(std::uint32_t pc, std::string_view target, std::string_view text) {
  return {TroubleKind::kUsage, fmt::format("no {} instruction at pc {:#x}{}{}", target, pc,
                                           text.empty() ? "" : ": ", text)};
}

}  // namespace

std::string_view keep_name(std::string name) {
  static std::deque<std::string> names;
  return names.emplace_back(std::move(name));
}

std::vector<std::string> implemented_mnemonics() {
  std::vector<std::string> names;
  for (const auto& [name, semantics] : table()) names.push_back(name);
  return names;
}

std::int32_t Program::index_of(std::uint64_t pc) const {
  const std::uint64_t slot = (pc - first_pc) / 4;
  return pc < first_pc || pc % 4 != 0 || slot >= index_at.size() ? -1 : index_at[slot];
}

std::string Program::where(const Inst& inst) const {
  const std::string line = object ? object->source_line(inst.pc) : fmt::format("pc {:#x}", inst.pc);
  return fmt::format("{}: {}", line, text[inst.index]);
}

Result<std::shared_ptr<Program>> decode_bytes(std::span<const std::byte> code, std::uint32_t pc,
                                              std::string_view target) {
  Disassembler disassembler(target);
  if (!disassembler.ok())
    return Trouble{TroubleKind::kInfra, fmt::format("LLVM has no disassembler for {}", target)};
  auto program = std::make_shared<Program>();
  program->first_pc = pc;
  program->flush_matrix_denormals = target == "gfx90a";
  program->index_at.assign(code.size() / 4 + 1, -1);
  for (std::size_t at = 0; at + 4 <= code.size();) {
    std::string text;
    const std::size_t size = disassembler.next(code.subspan(at), pc + at, &text);
    // Functions are padded with s_nop, s_code_end or zeros, which are no instructions.
    if (size == 0) {
      if (std::all_of(code.begin() + at, code.end(), [](std::byte b) { return b == std::byte{0}; }))
        break;
      return undecodable(static_cast<std::uint32_t>(pc + at), target, text);
    }
    ParsedText parsed = parse_text(text);
    if (!parsed.unknown.empty())
      return undecodable(static_cast<std::uint32_t>(pc + at), target,
                         text + " (cannot read " + parsed.unknown + ")");
    Inst& in = parsed.inst;
    in.index = static_cast<std::uint32_t>(program->insts.size());
    in.pc = static_cast<std::uint32_t>(pc + at);
    in.next_pc = static_cast<std::uint32_t>(in.pc + size);
    const bool buffer_to_lds = in.lds && parsed.mnemonic.starts_with("buffer_");
    finish(*program, base_mnemonic(parsed.mnemonic) + (buffer_to_lds ? " lds" : ""), in);
    program->index_at[at / 4] = static_cast<std::int32_t>(in.index);
    program->insts.push_back(in);
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.erase(0, 1);
    program->text.push_back(text);
    at += size;
  }
  // A fall off the end is a fault of its own.
  Inst last;
  last.run = [](Wave& w, const Inst& in) {
    return fault(w, in, "execution ran past the end of the kernel's code");
  };
  last.index = static_cast<std::uint32_t>(program->insts.size());
  last.pc = last.next_pc = static_cast<std::uint32_t>(pc + code.size());
  program->insts.push_back(last);
  program->text.push_back("end of code");
  wrap_indexed(*program);
  return program;
}

Result<std::shared_ptr<const Program>> decode(std::shared_ptr<const CodeObject> object,
                                              const KernelInfo& kernel) {
  auto code = object->image().subspan(kernel.entry, kernel.code_bytes);
  auto program = decode_bytes(code, static_cast<std::uint32_t>(kernel.entry), object->target());
  if (!program.ok()) {
    return Trouble{program.trouble().kind, fmt::format("{}: kernel {}: {}", object->path(),
                                                       kernel.name, program.trouble().text)};
  }
  (*program)->has_lines = !object->source_line(kernel.entry).starts_with("pc ");
  (*program)->object = std::move(object);
  (*program)->kernel = kernel;
  return std::shared_ptr<const Program>(*program);
}

}  // namespace attest::emulator
