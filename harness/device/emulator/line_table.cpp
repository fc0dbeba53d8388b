#include "harness/device/emulator/line_table.hpp"

#include <fmt/format.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/CrashRecoveryContext.h>

#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

namespace attest::emulator {
namespace {

constexpr std::uint64_t kMaxSectionBytes = std::uint64_t{1} << 30;

// LLVM 19 trusts sizes within the tables, so that a hostile file can crash it. False when it did:
// the report goes on without lines.
bool survives(llvm::function_ref<void()> read) {
  static std::mutex one_at_a_time;  // the recovery is the whole process's
  std::lock_guard lock(one_at_a_time);
  llvm::CrashRecoveryContext::Enable();
  llvm::CrashRecoveryContext recovery;
  const bool survived = recovery.RunSafely(read);
  llvm::CrashRecoveryContext::Disable();
  return survived;
}

// What a crash has left behind is not to be destroyed, as its state is unknown.
template <class T>
void abandon(std::unique_ptr<T> broken) {
  static std::vector<T*>& abandoned = *new std::vector<T*>;
  abandoned.push_back(broken.release());
}

class DwarfLines final : public LineTable {
 public:
  DwarfLines(std::unique_ptr<llvm::object::ObjectFile> object,
             std::unique_ptr<llvm::DWARFContext> context)
      : object_(std::move(object)), context_(std::move(context)) {}

  ~DwarfLines() override {
    if (!broken_) return;
    abandon(std::move(context_));
    abandon(std::move(object_));
  }

  std::string line(std::uint64_t address) const override {
    std::lock_guard lock(mutex_);
    if (broken_) return {};
    std::string text;
    broken_ = !survives([&] { text = read(address); });
    return text;
  }

 private:
  std::string read(std::uint64_t address) const {
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

  mutable std::mutex mutex_;
  std::unique_ptr<llvm::object::ObjectFile> object_;
  std::unique_ptr<llvm::DWARFContext> context_;
  mutable bool broken_ = false;
};

// There is a line table, and no section claims to be of a size that no memory has.
bool has_lines(const llvm::object::ObjectFile& object) {
  bool found = false;
  for (const auto& section : object.sections()) {
    auto name = section.getName();
    auto contents = section.getContents();
    if (name) found |= *name == ".debug_line";
    llvm::object::ELF64LE::Chdr header{};
    if (section.isCompressed() && contents && contents->size() >= sizeof header) {
      std::memcpy(&header, contents->data(), sizeof header);
    }
    if (!name) llvm::consumeError(name.takeError());
    if (!contents) llvm::consumeError(contents.takeError());
    if (header.ch_size > kMaxSectionBytes) return false;
  }
  return found;
}

std::unique_ptr<LineTable> open(std::span<const std::byte> file) {
  const llvm::StringRef bytes(reinterpret_cast<const char*>(file.data()), file.size());
  auto object =
      llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "code object"));
  if (!object) {
    llvm::consumeError(object.takeError());
    return nullptr;
  }
  if (!has_lines(**object)) return nullptr;
  const auto quiet = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
  auto context = llvm::DWARFContext::create(
      **object, llvm::DWARFContext::ProcessDebugRelocations::Ignore, nullptr, "", quiet, quiet);
  return std::make_unique<DwarfLines>(std::move(*object), std::move(context));
}

}  // namespace

std::unique_ptr<LineTable> LineTable::make(std::span<const std::byte> file) {
  std::unique_ptr<LineTable> table;
  return survives([&] { table = open(file); }) ? std::move(table) : nullptr;
}

}  // namespace attest::emulator
