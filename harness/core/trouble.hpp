// What the machine, the device or the user's input can do wrong, as a value.
#pragma once
#include <string>
#include <utility>
#include <variant>

namespace attest {

// Says which status a case gets and which exit code a run gets (verdict.hpp).
enum class TroubleKind {
  kUsage,    // the user's input: a token, a file, an option. Exit code 2.
  kInfra,    // no device, no memory, a runtime call failed. Exit code 4.
  kRefused,  // a launch that the device cannot do: its grid, threads, LDS or arguments
  kCrashed,  // the kernel did something that stops it: a fault, an illegal instruction
  kHung,     // the kernel made no progress, or spent its instruction budget
};

// Whether it is the doing of the kernel or of its launcher, and so a verdict about them.
constexpr bool is_of_kernel(TroubleKind kind) {
  return kind == TroubleKind::kRefused || kind == TroubleKind::kCrashed ||
         kind == TroubleKind::kHung;
}

struct Trouble {
  TroubleKind kind = TroubleKind::kInfra;
  std::string text;  // what, where, and what to do; the failing call's own words when there are any
};

// A value or the Trouble that kept it from being made.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Result(Trouble trouble) : state_(std::move(trouble)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& operator*() { return std::get<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  const Trouble& trouble() const { return std::get<Trouble>(state_); }

 private:
  std::variant<T, Trouble> state_;
};

struct Done {};
using Outcome = Result<Done>;  // for calls that return nothing: `return Done{};`

}  // namespace attest
