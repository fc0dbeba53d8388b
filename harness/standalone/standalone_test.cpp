// Standalone programs from end to end: recorded on the emulator, written, compiled and run.
#include "harness/standalone/standalone.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/core/poison.hpp"
#include "harness/device/emulator/emulator_device.hpp"
#include "harness/standalone/data.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::uint32_t>;

std::string text_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

class Standalone : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "attest-standalone-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    const auto module = recording_.load_module(object());
    ASSERT_TRUE(module.ok()) << module.trouble().text;
    module_ = *module;
    failure_.token = "v1:token";
    failure_.device = "emu:gfx942";
    failure_.verdict.status = Status::kFailed;
    failure_.verdict.reason = "it is wrong";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string object() { return ATTEST_TEST_KERNELS_DIR "/test_kernels.gfx942.co"; }
  std::string file() const { return folder_ + "/repro.cpp"; }

  Buffer buffer(const std::string& label, const Words& words) {
    const auto made = recording_.allocate(label, words.size() * 4, kPoison16);
    EXPECT_TRUE(made.ok());
    write(*made, 0, words);
    return *made;
  }
  void write(const Buffer& to, std::size_t offset, const Words& words) {
    EXPECT_TRUE(recording_.write(to, offset, std::as_bytes(std::span{words})).ok());
  }
  void launch(const std::string& kernel, const LaunchConfig& config,
              const KernelArguments& arguments) {
    const auto function = recording_.function(module_, kernel);
    ASSERT_TRUE(function.ok()) << function.trouble().text;
    const Outcome launched = recording_.launch(*function, config, arguments);
    EXPECT_TRUE(launched.ok()) << (launched.ok() ? "" : launched.trouble().text);
  }
  void add_one(const Buffer& to) {
    launch("add_one", {{1}, {64}, 0}, KernelArguments().add(to.address));
  }
  // Reads a word; the element must hold `wanted`.
  void look(const Buffer& from, std::size_t offset, std::uint32_t wanted) {
    std::uint32_t word = 0;
    const auto to = std::as_writable_bytes(std::span{&word, 1});
    EXPECT_TRUE(recording_.read(from, offset, to).ok());
    FaultyElement element;
    element.name = "a word";
    element.at = {recording_.record().events.size() - 1, offset, word};
    element.bytes = 4;
    element.must = Must::kHold;
    element.wanted = wanted;
    failure_.elements.push_back(element);
  }
  StandaloneEnd written(const std::string& code_object = object()) {
    failure_.record = recording_.record();
    const auto end = write_standalone(failure_, {file(), code_object, "test_kernels.gfx942.co"});
    EXPECT_TRUE(end.ok()) << (end.ok() ? "" : end.trouble().text);
    return end.ok() ? *end : StandaloneEnd{};
  }

  const std::unique_ptr<Device> device_ = emulator::make_device("gfx942", {.threads = 1});
  RecordingDevice recording_{*device_};
  Module module_;
  Failure failure_;
  std::string folder_;
};

TEST_F(Standalone, FailsAsRecordedOnTheSameBits) {
  const Buffer data = buffer("data", Words(64, 41));
  add_one(data);
  look(data, 12, 43);
  const StandaloneEnd end = written();
  EXPECT_EQ(end.label, "standalone: fails as recorded");
  EXPECT_TRUE(end.was_run);
  const std::string text = text_of(file());
  EXPECT_TRUE(text.starts_with("// v1:token\n")) << text.substr(0, 100);
  EXPECT_NE(text.find("// standalone: fails as recorded\n"), std::string::npos);
  EXPECT_EQ(text.find("#include \""), std::string::npos) << "it stands alone";
  EXPECT_EQ(text.find(ATTEST_SOURCE_DIR), std::string::npos) << "it names this machine's paths";
}

TEST_F(Standalone, ThatPassesIsLabelledSo) {
  const Buffer data = buffer("data", Words(64, 41));
  add_one(data);
  look(data, 12, 42);
  EXPECT_TRUE(written().label.starts_with("NOT standalone: the program passes"));
  EXPECT_NE(text_of(file()).find("// NOT standalone: the program passes"), std::string::npos);
}

TEST_F(Standalone, ThatFailsByOtherBitsIsLabelledSo) {
  const Buffer data = buffer("data", Words(64, 41));
  add_one(data);
  look(data, 12, 43);
  failure_.elements[0].at.seen = 7;
  EXPECT_TRUE(written().label.starts_with("standalone: fails, but not as recorded: 0 of 1"));
}

// Three replays of a graph, with a write between them, from two places of one buffer.
TEST_F(Standalone, RepeatsWritesCapturesAndReplaysInTheirOrder) {
  const Buffer data = buffer("data", Words(128, 10));
  ASSERT_TRUE(recording_.begin_capture().ok());
  launch("add_one", {{1}, {64}, 0}, KernelArguments().add(data.address + 256));
  const auto graph = recording_.end_capture();
  ASSERT_TRUE(graph.ok() && recording_.replay(*graph).ok());
  write(data, 256, {20, 30});
  ASSERT_TRUE(recording_.replay(*graph).ok() && recording_.replay(*graph).ok());
  ASSERT_TRUE(recording_.synchronize().ok());
  for (const std::size_t at : {0, 256, 260, 264}) look(data, at, 0);
  EXPECT_EQ(failure_.elements[1].at.seen, 22u);
  EXPECT_EQ(failure_.elements[3].at.seen, 13u);
  EXPECT_EQ(written().label, "standalone: fails as recorded");
}

TEST_F(Standalone, RunsUnderTheRecordedSchedule) {
  recording_.set_schedule({77});
  const Buffer counter = buffer("counter", {0}), tickets = buffer("tickets", Words(32, 0));
  launch("take_tickets", {{32}, {64}, 0},
         KernelArguments().add(counter.address).add(tickets.address));
  bool in_order = true;
  for (std::uint32_t group = 0; group < 32; ++group) {
    look(tickets, 4 * group, 99);
    in_order &= failure_.elements[group].at.seen == group;
  }
  EXPECT_FALSE(in_order) << "the schedule must be one that shows";
  EXPECT_EQ(written().label, "standalone: fails as recorded");
}

TEST_F(Standalone, ShowsAKernelThatStops) {
  const Buffer data = buffer("data", Words(64, 0));
  launch("store_at", {{1}, {64}, 0}, KernelArguments().add(data.address).add(64u).add(0u).add(3u));
  EXPECT_FALSE(recording_.synchronize().ok());
  failure_.verdict.status = Status::kCrashed;
  EXPECT_EQ(written().label, "standalone: fails as recorded");
}

TEST_F(Standalone, OfAKernelThatStopsPassesWhenItDoesNot) {
  const Buffer data = buffer("data", Words(64, 0));
  add_one(data);
  EXPECT_TRUE(recording_.synchronize().ok());
  failure_.verdict.status = Status::kCrashed;
  EXPECT_TRUE(written().label.starts_with("NOT standalone: the program passes"));
}

// As recorded on a GPU, where what lies around a buffer can be written.
TEST_F(Standalone, LooksAtItsOwnGuardZones) {
  buffer("data", Words(64, 0));
  failure_.record = recording_.record();
  RecordedLaunch store{0, {{1}, {64}, 0}, std::vector<std::byte>(20), {0, 8, 12, 16}, {{0, 0, 0}}};
  const Words index = {64, 0, 3};
  std::memcpy(store.arguments.data() + 8, index.data(), 12);
  failure_.record.functions = {{object(), "store_at"}};
  failure_.record.events.emplace_back(store);
  failure_.record.events.emplace_back(RecordedGuardDamage{0, "the byte after its end"});
  const StandaloneOptions options{file(), object(), "test_kernels.gfx942.co"};
  auto end = write_standalone(failure_, options);
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->label, "standalone: fails as recorded");
  std::get<RecordedLaunch>(failure_.record.events[2]).arguments[8] = std::byte{63};
  end = write_standalone(failure_, options);
  ASSERT_TRUE(end.ok());
  EXPECT_TRUE(end->label.starts_with("NOT standalone: the program passes")) << end->label;
}

TEST_F(Standalone, KeepsLargeDataInAFileWithTheSameBytesEachTime) {
  Words words(ProgramData::kLiteralBytes / 2);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 2654435761u;
  const Buffer data = buffer("data", words), out = buffer("out", Words(64, 0));
  const auto last = static_cast<std::uint32_t>(words.size() - 64);
  launch("load_at", {{1}, {64}, 0}, KernelArguments().add(data.address).add(out.address).add(last));
  look(out, 4, 0);
  EXPECT_EQ(failure_.elements[0].at.seen, words[last + 1]);
  EXPECT_EQ(written().label, "standalone: fails as recorded");
  const std::string first = text_of(file() + ".h5");
  EXPECT_GT(first.size(), words.size() * 4);
  EXPECT_LT(fs::file_size(file()), 40000u);
  EXPECT_EQ(written().label, "standalone: fails as recorded");
  EXPECT_TRUE(text_of(file() + ".h5") == first);
}

TEST_F(Standalone, SaysWhatIsMissingToCompileItAndKeepsTheProgram) {
  const Buffer data = buffer("data", Words(64, 41));
  look(data, 12, 43);
  failure_.record = recording_.record();
  const auto end = write_standalone(
      failure_, {file(), object(), "test_kernels.gfx942.co", 60, "/nonexistent/clang++"});
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->was_run);
  EXPECT_NE(end->label.find("cannot start /nonexistent/clang++"), std::string::npos) << end->label;
  EXPECT_NE(text_of(file()).find("// standalone: not run"), std::string::npos);
}

TEST_F(Standalone, OfAFailureThatNothingShowsIsRefused) {
  add_one(buffer("data", Words(64, 0)));
  failure_.record = recording_.record();
  const auto end = write_standalone(failure_, {file(), object(), "test_kernels.gfx942.co"});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.trouble().kind, TroubleKind::kUsage);
  EXPECT_FALSE(fs::exists(file()));
}

TEST_F(Standalone, PathThatCannotBeWrittenIsNamedBeforeAnythingRuns) {
  EXPECT_TRUE(check_standalone_path(file()).ok());
  EXPECT_TRUE(check_standalone_path("repro.cpp").ok());
  const auto expect_refused = [](const std::string& path, TroubleKind kind) {
    const Outcome checked = check_standalone_path(path);
    ASSERT_FALSE(checked.ok()) << path;
    EXPECT_EQ(checked.trouble().kind, kind);
    EXPECT_NE(checked.trouble().text.find(path), std::string::npos) << checked.trouble().text;
  };
  expect_refused(folder_ + "/repro.txt", TroubleKind::kUsage);
  expect_refused(folder_ + "/none/repro.cpp", TroubleKind::kInfra);
  fs::create_directory(file());
  expect_refused(file(), TroubleKind::kInfra);
}

}  // namespace
}  // namespace attest
