// LineSocket: lines of text between two processes, over one end of a socket pair.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace attest {

class LineSocket {
 public:
  explicit LineSocket(int socket) : socket_(socket) {}
  ~LineSocket();
  LineSocket(const LineSocket&) = delete;
  LineSocket& operator=(const LineSocket&) = delete;

  int descriptor() const { return socket_; }
  // Without its '\n', which a line's own text must not hold. False: nobody reads it.
  bool send(std::string_view line);
  // Takes in what has come; where nothing has, waits for it if `wait` says so. False: no more will
  // come.
  bool receive(bool wait);
  std::optional<std::string> next_line();  // of what was taken in

 private:
  int socket_;
  std::string received_;
};

}  // namespace attest
