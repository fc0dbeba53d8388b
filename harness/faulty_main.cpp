// attest_faulty: attest, with faults that a test asks for. In the environment of its workers:
//   ATTEST_FAULT  KIND@PART[@FILE][;...]: before a case whose token holds PART, the worker does
//   KIND:
//                   segv, abort, exit7, bad_alloc, bomb (takes memory without end), loop
//                   wait  goes on once FILE is there
//                 Of all but wait FILE makes it once only: it is made, or is there already.
//   ATTEST_LOG    a file: gets a line for each case before it runs: its token
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "harness/commands.hpp"
#include "harness/worker.hpp"

namespace attest {
namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

struct Fault {
  std::string kind, part, file;
};

std::vector<Fault> faults() {
  std::vector<Fault> all;
  std::istringstream entries(environment("ATTEST_FAULT"));
  for (std::string entry; std::getline(entries, entry, ';');) {
    std::istringstream words(entry);
    Fault fault;
    std::getline(words, fault.kind, '@');
    std::getline(words, fault.part, '@');
    std::getline(words, fault.file);
    all.push_back(fault);
  }
  return all;
}

// The first to ask, of all processes.
bool is_first(const std::string& file) {
  const int made = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (made >= 0) close(made);
  return made >= 0;
}

void take_memory_without_end() {
  constexpr std::size_t kBytes = std::size_t{1} << 24;
  for (std::vector<std::unique_ptr<std::string>> held;;) {
    held.push_back(std::make_unique<std::string>(kBytes, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void wait_for(const std::string& file) {
  while (access(file.c_str(), F_OK) != 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void commit(const Fault& fault) {
  if (fault.kind == "wait") return wait_for(fault.file);
  if (!fault.file.empty() && !is_first(fault.file)) return;
  std::fputs("about to fail\n", stderr);
  if (fault.kind == "segv") std::raise(SIGSEGV);
  if (fault.kind == "abort") std::abort();
  if (fault.kind == "exit7") std::exit(7);
  if (fault.kind == "bad_alloc") std::thread([] { throw std::bad_alloc(); }).join();
  if (fault.kind == "bomb") take_memory_without_end();
  while (fault.kind == "loop") std::this_thread::yield();
}

void log(const std::string& token) {
  const std::string path = environment("ATTEST_LOG");
  if (path.empty()) return;
  const int file = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  const std::string line = token + "\n";
  [[maybe_unused]] const auto written = write(file, line.data(), line.size());
  close(file);
}

}  // namespace
}  // namespace attest

int main(int argc, char** argv) {
  attest::before_case = [](const std::string& token) {
    attest::log(token);
    for (const attest::Fault& fault : attest::faults()) {
      if (token.find(fault.part) != std::string::npos) attest::commit(fault);
    }
  };
  return attest::run_command_line(argc, argv);
}
