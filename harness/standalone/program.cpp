#include "harness/standalone/program.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <map>
#include <sstream>

#include "harness/standalone/runtime_text.hpp"

namespace attest {
namespace {

std::string number(double x) {
  if (std::isnan(x)) return "kNan";
  if (std::isinf(x)) return x < 0 ? "-kInfinity" : "kInfinity";
  return fmt::format("{:.17g}", x);
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

// Writes the statements of one record.
class Statements {
 public:
  explicit Statements(const Failure& failure) : failure_(failure), data_(failure.record) {
    std::map<std::string, int> count;
    for (const RecordedBuffer& buffer : failure.record.buffers) {
      const std::string name = identifier(buffer.label);
      const int n = ++count[name];
      names_.push_back(n == 1 ? name : fmt::format("{}_{}", name, n));
    }
  }

  void write_all() {
    for (std::size_t e = 0; e < failure_.record.events.size(); ++e) {
      std::visit([&](const auto& event) { write(event); }, failure_.record.events[e]);
      for (std::size_t i = 0; i < failure_.elements.size(); ++i) look_at(i, e);
    }
  }

  std::string buffers() const {
    std::string text;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const RecordedBuffer& b = failure_.record.buffers[i];
      text += fmt::format("Buffer {}{{{}, {}, 0x{:04x}}};\n", names_[i], quoted(b.label), b.bytes,
                          b.fill);
    }
    return text;
  }
  const std::string& text() const { return text_; }
  const ProgramData& data() const { return data_; }
  bool has_graphs() const { return has_graphs_; }
  bool checks_guards() const { return checks_guards_; }

 private:
  void write(const RecordedAllocate& e) { line("allocate({});", names_[e.buffer]); }
  void write(const RecordedRelease& e) { line("release({});", names_[e.buffer]); }
  void write(const RecordedWrite& e) { text_ += data_.upload(e, names_[e.buffer]); }
  void write(const RecordedSynchronize& /*e*/) { line("synchronize();"); }
  void write(const RecordedBeginCapture& /*e*/) {
    has_graphs_ = true;
    line("begin_capture();");
  }
  void write(const RecordedEndCapture& e) {
    line("void* const graph_{} = end_capture();", e.graph);
  }
  void write(const RecordedReplay& e) { line("replay(graph_{});", e.graph); }
  void write(const RecordedSchedule& e) {
    if (e.schedule != schedule_) line("set_schedule({});", quoted(to_string(e.schedule)));
    schedule_ = e.schedule;
  }
  void write(const RecordedRead& /*e*/) {}
  void write(const RecordedGuardDamage& e) {
    checks_guards_ = true;
    line("guards_are_whole({});", names_[e.buffer]);
  }
  void write(const RecordedLaunch& e) {
    const LaunchConfig& c = e.config;
    line("launch(module, {}, {{{}, {}, {}}}, {{{}, {}, {}}}, {},",
         quoted(failure_.record.functions[e.function].symbol), c.grid.x, c.grid.y, c.grid.z,
         c.block.x, c.block.y, c.block.z, c.dynamic_lds_bytes);
    text_ += "         {";
    for (std::size_t i = 0; i < e.offsets.size(); ++i) {
      text_ += (i == 0 ? "" : ",\n          ") + argument(e, i);
    }
    text_ += "});\n";
  }

  // {{words}, {addresses}}; a word that is an address is 0.
  std::string argument(const RecordedLaunch& e, std::size_t i) const {
    const std::size_t begin = e.offsets[i];
    const std::size_t end = i + 1 < e.offsets.size() ? e.offsets[i + 1] : e.arguments.size();
    std::vector<std::uint32_t> words((end - begin + 3) / 4);
    std::memcpy(words.data(), e.arguments.data() + begin, end - begin);
    std::string pointers;
    int count = 0;
    for (const RecordedPointer& p : e.pointers) {
      if (p.at < begin || p.at + 8 > end) continue;
      words[(p.at - begin) / 4] = words[(p.at - begin) / 4 + 1] = 0;
      const char* const comma = count == 0 ? "" : count % 3 == 0 ? ",\n                    " : ", ";
      ++count;
      pointers +=
          fmt::format("{}{{{}, {}.at({})}}", comma, p.at - begin, names_[p.buffer], p.offset);
    }
    std::string text = "Argument({";
    for (std::size_t w = 0; w < words.size(); ++w) {
      text += fmt::format(
          "{}{}",
          w == 0        ? ""
          : w % 16 == 0 ? ",\n           "
                        : ", ",
          words[w] < 1024 ? fmt::format("{}", words[w]) : fmt::format("0x{:08x}", words[w]));
    }
    return text + "},\n                   {" + pointers + "})";
  }

  // What element `i` has to do with event `e`.
  void look_at(std::size_t i, std::size_t e) {
    const FaultyElement& f = failure_.elements[i];
    const bool is_pair = f.must == Must::kEqualOther || f.must == Must::kBeNearOther;
    if (is_pair && f.other.event == e)
      line("const std::uint32_t kept_{} = bits({}, {});", i, place(f.other), f.bytes);
    if (f.at.event == e) check(f, fmt::format("kept_{}", i));
  }

  std::string place(const ElementAt& at) const {
    const auto& read = std::get<RecordedRead>(failure_.record.events[at.event]);
    return fmt::format("{}, {}", names_[read.buffer], at.offset);
  }

  void check(const FaultyElement& f, const std::string& kept) {
    const std::string element = fmt::format("{}, {}, {}", place(f.at), f.bytes, quoted(f.name));
    switch (f.must) {
      case Must::kLieWithin:
        return line("within({},\n         {}, {}, {}, {}, 0x{:x});", element, number(f.expected),
                    number(f.bound), number(f.low), number(f.high), f.at.seen);
      case Must::kHold:
        return line("untouched({}, 0x{:x}, 0x{:x});", element, f.wanted, f.at.seen);
      case Must::kBeFinite:
        return line("finite({}, 0x{:x});", element, f.at.seen);
      case Must::kBeWritten:
        return line("written({}, 0x{:x});", element, f.at.seen);
      case Must::kEqualOther:
        return line("same({},\n       {}, 0x{:x}, 0x{:x});", element, kept, f.at.seen,
                    f.other.seen);
      case Must::kBeNearOther:
        return line("near({},\n       {}, {}, {}, 0x{:x}, 0x{:x});", element, kept, number(f.shift),
                    number(f.bound), f.at.seen, f.other.seen);
    }
  }

  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    text_ += "  " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  }

  const Failure& failure_;
  ProgramData data_;
  std::vector<std::string> names_;  // of the buffers
  std::string text_;
  Schedule schedule_;
  bool has_graphs_ = false, checks_guards_ = false;
};

// A comment's lines, wrapped; a word is never cut.
std::string comment(std::string_view text, std::string_view indent = "") {
  constexpr std::size_t kWidth = 100;
  std::string result, line;
  const auto flush = [&] {
    while (line.ends_with('\\')) line.back() = '/';  // would continue the comment
    result += "//" + (line.empty() ? "" : " " + std::string(indent) + line) + "\n";
    line.clear();
  };
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + indent.size() + word.size() + 4 > kWidth) flush();
    line += (line.empty() ? "" : " ") + word;
  }
  flush();
  return result;
}

std::string why_not(const Failure& failure, bool checks_guards) {
  for (const RecordedFunction& function : failure.record.functions) {
    if (function.code_object != failure.record.functions[0].code_object)
      return "its kernels come from more than one code object";
  }
  if (failure.verdict.status != Status::kFailed && !failure.stops())
    return fmt::format("the verdict is {}", to_string(failure.verdict.status));
  if (failure.stops() || checks_guards || !failure.elements.empty()) return {};
  if (!failure.why_no_elements.empty()) return failure.why_no_elements;
  return "no element, guard zone or input that a program could look at shows it";
}

}  // namespace

Result<Program> make_program(const Failure& failure, std::string_view code_object) {
  Statements statements(failure);
  statements.write_all();
  if (const std::string why = why_not(failure, statements.checks_guards()); !why.empty()) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("this failure cannot be a standalone program: {}", why)};
  }
  const ProgramData& data = statements.data();
  const bool uses_file = !data.datasets().empty();
  std::string text = uses_file ? "#include <hdf5.h>\n\n" : "";
  text += "#include <cstddef>\n\nnamespace repro {\n\n";
  text += fmt::format("constexpr bool kStops = {};  // the failure: the kernel stops\n",
                      failure.stops());
  text +=
      fmt::format("constexpr std::size_t kGuardBytes = {};  // on both sides of each buffer\n\n",
                  statements.checks_guards() ? 65536 : 0);
  text += "}  // namespace repro\n\n";
  text += kRuntimeText;
  if (statements.has_graphs()) text += kGraphText;
  if (uses_file) text += kDataFileText;
  text += "\n" + data.declarations() + "\n" + statements.buffers();
  text += "\nint run(void* module) {\n" + statements.text() + "  return finish();\n}\n\n";
  text += "}  // namespace repro\n\nint main(int argc, char** argv) {\n";
  text += fmt::format("  const char* const path = argc > 1 ? argv[1] : {};\n", quoted(code_object));
  if (uses_file) text += "  if (argc > 2) repro::data_file = argv[2];\n";
  text += "  void* module = nullptr;\n  repro::need(hipModuleLoad(&module, path), path);\n";
  text += "  return repro::run(module);\n}\n\nnamespace repro {\n\n" + data.arrays();
  text += "\n}  // namespace repro\n";
  return Program{std::move(text), data.datasets()};
}

std::string first_comment(const Failure& failure, const ProgramNotes& notes) {
  const Verdict& v = failure.verdict;
  std::string text = "// " + failure.token + "\n//\n";
  text += comment(fmt::format("{} on {}: {}", to_string(v.status), failure.device, v.reason));
  if (!v.blame.empty()) text += comment("blame: " + v.blame);
  if (!v.bucket.empty()) text += comment("bucket: " + v.bucket);
  text += "//\n" + comment(notes.label) + "//\n";
  for (const std::string& line : notes.compile) text += "// " + line + "\n";
  text += comment(
      "Exit code: 1 while any check fails, 0 when all pass (a repaired kernel), 2 for trouble. The "
      "launches are those that were recorded: a repaired launcher needs a new recording.");
  return text;
}

}  // namespace attest
