// StatusLine: one line that says what goes on: drawn in place on a terminal, and now and then a
// line of its own elsewhere. No escape code leaves it but on a terminal.
#pragma once
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace attest {

// That takes escape codes: TERM says which one it is, and not that it is dumb.
bool is_terminal(std::FILE* file);

// Where the line is shown.
struct Screen {
  std::function<void(std::string_view text)> write;
  std::function<double()> seconds;  // a clock
  std::function<int()> columns;     // of the terminal, as it is now; 0: there is none
};
// stderr, where it is_terminal(); its width: the terminal's, else COLUMNS, else 80.
Screen stderr_screen();

class StatusLine {
 public:
  static constexpr double kTerminalSeconds = 0.1, kElsewhereSeconds = 30;  // between two drawings

  explicit StatusLine(Screen screen);

  // `text` is asked for the line when it is drawn: at once where none is on the terminal, else
  // after kTerminalSeconds; elsewhere every kElsewhereSeconds. Columns that it may have; 0: as many
  // as it likes.
  void show(const std::function<std::string(int columns)>& text);
  // Before anything else is printed there.
  void clear();

  double seconds() const { return screen_.seconds() - begun_at_; }  // since it was made

 private:
  Screen screen_;
  bool on_terminal_;
  bool is_drawn_ = false;  // and not cleared
  double begun_at_, drawn_at_;
};

}  // namespace attest
