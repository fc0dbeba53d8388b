#include "harness/device/emulator/line_table.hpp"

#include <fmt/format.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/ObjectFile.h>

#include <filesystem>
#include <mutex>

namespace attest::emulator {
namespace {

class DwarfLines final : public LineTable {
 public:
  DwarfLines(std::unique_ptr<llvm::object::ObjectFile> object,
             std::unique_ptr<llvm::DWARFContext> context)
      : object_(std::move(object)), context_(std::move(context)) {}

  std::string line(std::uint64_t address) const override {
    std::lock_guard lock(mutex_);
    llvm::DILineInfoSpecifier wanted;
    wanted.FLIKind = llvm::DILineInfoSpecifier::FileLineInfoKind::RawValue;
    const auto frames = context_->getInliningInfoForAddress(
        {address, llvm::object::SectionedAddress::UndefSection}, wanted);
    std::string text;
    for (std::uint32_t i = 0; i < frames.getNumberOfFrames(); ++i) {
      const auto frame = frames.getFrame(i);
      if (frame.FileName == llvm::DILineInfo::BadString) continue;
      const std::string where =
          fmt::format("{}:{}:{}", std::filesystem::path(frame.FileName).filename().string(),
                      frame.Line, frame.Column);
      text += text.empty() ? where : " < " + where;
    }
    return text;
  }

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<llvm::object::ObjectFile> object_;
  std::unique_ptr<llvm::DWARFContext> context_;
};

}  // namespace

std::unique_ptr<LineTable> LineTable::make(std::span<const std::byte> file) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(file.data()), file.size());
  auto object =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "code object"));
  if (!object) {
    llvm::consumeError(object.takeError());
    return nullptr;
  }
  bool has_lines = false;
  for (const auto& section : (*object)->sections()) {
    auto name = section.getName();
    if (name)
      has_lines |= *name == ".debug_line";
    else
      llvm::consumeError(name.takeError());
  }
  if (!has_lines) return nullptr;
  const auto quiet = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  auto context = llvm::DWARFContext::create(
      **object, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "", quiet, quiet);
  return std::make_unique<DwarfLines>(std::move(*object), std::move(context));
}

}  // namespace attest::emulator
