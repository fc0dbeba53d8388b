#include "reports/run/status_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

namespace attest {
namespace {

int columns_of_stderr() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const char* const columns = std::getenv("COLUMNS");
  const int given = columns == nullptr ? 0 : std::atoi(columns);
  return given > 0 ? given : 80;
}

}  // namespace

bool is_terminal(std::FILE* file) {
  const char* const term = std::getenv("TERM");
  const std::string_view name = term == nullptr ? "" : term;
  return isatty(fileno(file)) == 1 && !name.empty() && name != "dumb";
}

Screen stderr_screen() {
  const bool there_is_one = is_terminal(stderr);
  return {.write =
              [](std::string_view text) {
                std::fwrite(text.data(), 1, text.size(), stderr);
                std::fflush(stderr);
              },
          .seconds =
              [] {
                const auto now = std::chrono::steady_clock::now().time_since_epoch();
                return std::chrono::duration<double>(now).count();
              },
          .columns = [there_is_one] { return there_is_one ? columns_of_stderr() : 0; }};
}

StatusLine::StatusLine(Screen screen)
    : screen_(std::move(screen)),
      on_terminal_(screen_.columns() > 0),
      begun_at_(screen_.seconds()),
      drawn_at_(begun_at_) {}

void StatusLine::show(const std::function<std::string(int)>& text) {
  const double now = screen_.seconds();
  const bool is_due = on_terminal_ ? !is_drawn_ || now - drawn_at_ >= kTerminalSeconds
                                   : now - drawn_at_ >= kElsewhereSeconds;
  if (!is_due) return;
  drawn_at_ = now;
  if (!on_terminal_) {
    screen_.write(text(0) + "\n");
    return;
  }
  // The last column stays empty: a full line makes some terminals go on to the next.
  const int columns = screen_.columns() - 1;
  screen_.write("\r\033[K" + text(columns).substr(0, static_cast<std::size_t>(columns)));
  is_drawn_ = true;
}

void StatusLine::clear() {
  if (is_drawn_) screen_.write("\r\033[K");
  is_drawn_ = false;
}

}  // namespace attest
