#include "harness/line_socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace attest {

LineSocket::~LineSocket() { close(socket_); }

bool LineSocket::send(std::string_view line) {
  std::string rest(line);
  rest += '\n';
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    rest.erase(0, static_cast<std::size_t>(sent));
  }
  return true;
}

bool LineSocket::receive(bool wait) {
  for (bool first = true;; first = false) {
    char bytes[1 << 16];
    const ssize_t got = recv(socket_, bytes, sizeof bytes, wait && first ? 0 : MSG_DONTWAIT);
    if (got > 0) {
      received_.append(bytes, static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    }
  }
}

std::optional<std::string> LineSocket::next_line() {
  const std::size_t end = received_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

}  // namespace attest
