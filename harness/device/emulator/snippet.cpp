// Assembles a few instructions and runs them on one wave, for tests of single opcodes.
#include <fmt/format.h>
#include <llvm/MC/MCAsmBackend.h>
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCObjectFileInfo.h>
#include <llvm/MC/MCObjectWriter.h>
#include <llvm/MC/MCParser/MCAsmParser.h>
#include <llvm/MC/MCParser/MCTargetAsmParser.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCStreamer.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <xmmintrin.h>

#include "harness/device/emulator/wave.hpp"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmParser();
}

namespace attest::emulator {
namespace {

// The bytes of .text of the assembled object; empty with `error` set on a syntax error.
std::vector<std::byte> assemble(std::string_view text, std::string_view target,
                                std::string* error) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmParser();
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  const llvm::Target* t = llvm::TargetRegistry::lookupTarget(triple.str(), *error);
  if (!t) return {};
  llvm::SourceMgr sources;
  sources.setDiagHandler(
      [](const llvm::SMDiagnostic& d, void* out) {
        *static_cast<std::string*>(out) += d.getMessage().str() + "\n";
      },
      error);
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(text.data(), text.size())),
      llvm::SMLoc());
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(t->createMCRegInfo(triple.str()));
  std::unique_ptr<llvm::MCAsmInfo> info(t->createMCAsmInfo(*registers, triple.str(), options));
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      t->createMCSubtargetInfo(triple.str(), llvm::StringRef(target.data(), target.size()), ""));
  std::unique_ptr<llvm::MCInstrInfo> instructions(t->createMCInstrInfo());
  llvm::MCContext context(triple, info.get(), registers.get(), subtarget.get(), &sources, &options);
  std::unique_ptr<llvm::MCObjectFileInfo> objects(t->createMCObjectFileInfo(context, false));
  context.setObjectFileInfo(objects.get());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  std::unique_ptr<llvm::MCAsmBackend> backend(
      t->createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = backend->createObjectWriter(stream);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(t->createMCCodeEmitter(*instructions, context));
  std::unique_ptr<llvm::MCStreamer> streamer(t->createMCObjectStreamer(
      triple, context, std::move(backend), std::move(writer), std::move(emitter), *subtarget));
  std::unique_ptr<llvm::MCAsmParser> parser(
      llvm::createMCAsmParser(sources, context, *streamer, *info));
  std::unique_ptr<llvm::MCTargetAsmParser> target_parser(
      t->createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*target_parser);
  if (parser->Run(false) || !error->empty()) return {};
  auto file =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object.str(), "snippet"));
  if (!file) {
    *error = llvm::toString(file.takeError());
    return {};
  }
  for (const auto& section : (*file)->sections()) {
    if (!section.isText()) continue;
    auto contents = section.getContents();
    if (!contents) continue;
    const auto* begin = reinterpret_cast<const std::byte*>(contents->data());
    return {begin, begin + contents->size()};
  }
  return {};
}

void enter(Wave& w, const WaveState& state) {
  std::memcpy(w.v, state.vgpr.data(), state.vgpr.size() * 4);
  std::memcpy(w.v[kAccBase], state.agpr.data(), state.agpr.size() * 4);
  std::memset(w.s, 0, sizeof w.s);
  std::memcpy(w.s, state.sgpr.data(), sizeof state.sgpr);
  w.set_s64(kVcc, state.vcc);
  w.set_s64(kExec, state.exec);
  w.s[kM0] = state.m0;
  w.scc = state.scc;
  w.mode = state.mode;
}
void leave(const Wave& w, WaveState& state) {
  std::memcpy(state.vgpr.data(), w.v, state.vgpr.size() * 4);
  std::memcpy(state.agpr.data(), w.v[kAccBase], state.agpr.size() * 4);
  std::memcpy(state.sgpr.data(), w.s, sizeof state.sgpr);
  state.vcc = w.s64(kVcc);
  state.exec = w.exec();
  state.m0 = w.s[kM0];
  state.scc = w.scc;
  state.mode = w.mode;
  state.lds = w.group->lds;
}

}  // namespace

Outcome run_snippet(std::string_view text, std::string_view target, Memory& memory,
                    WaveState& state) {
  std::string error;
  const std::vector<std::byte> code = assemble(std::string(text) + "\ns_endpgm\n", target, &error);
  if (code.empty())
    return Trouble{TroubleKind::kUsage, fmt::format("cannot assemble for {}: {}", target, error)};
  auto program = decode_bytes(code, 0, target);
  if (!program.ok()) return program.trouble();
  (*program)->kernel.name = "snippet";
  std::vector<AddressRange> cache((*program)->insts.size());
  Workgroup group;
  group.lds = state.lds;
  group.memory = &memory;
  group.cache = &cache;
  group.arith = state.arith;
  auto w = std::make_unique<Wave>();
  w->program = program->get();
  w->group = &group;
  w->scratch_stride = 256;
  w->scratch.resize(256 * kLanes);
  enter(*w, state);
  const u32 control = _mm_getcsr();
  set_host_control(host_control_f32(w->mode));
  Flow flow = Flow::kNext;
  for (int steps = 0; steps < 10000 && flow != Flow::kEnd && flow != Flow::kFault; ++steps) {
    const Inst& in = (*program)->insts[w->pc++];
    flow = in.run(*w, in);
  }
  _mm_setcsr(control);
  leave(*w, state);
  if (flow == Flow::kFault) return Trouble{TroubleKind::kCrashed, w->fault};
  if (flow != Flow::kEnd)
    return Trouble{TroubleKind::kHung, "the snippet did not end within 10000 instructions"};
  return Done{};
}

}  // namespace attest::emulator
