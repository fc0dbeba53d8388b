#include "harness/device/gpu/streams.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "harness/core/check.hpp"

namespace attest::gpu_driver {
namespace {

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING, hipStreamNonBlocking

// All devices of this process work in one context of each GPU: a fault or a hang is everybody's.
std::atomic<int> open_devices{0};
std::atomic<bool> process_hangs{false};
std::atomic<bool> is_any_lost{false};

// CUDA Driver API, "CUresult"; hipError_t has the same numbers.
TroubleKind kind_of(Code code) {
  switch (code) {
    case 9:    // invalid configuration
    case 200:  // invalid image
    case 209:  // no binary for this GPU
    case 300:  // invalid source
    case 500:  // not found: a module's kernel
    case 701:  // out of resources: registers, shared memory
      return TroubleKind::kUsage;
    case 214:  // ECC uncorrectable: the device is lost, and no kernel's doing
      return TroubleKind::kInfra;
    default:
      return is_fault(code) ? TroubleKind::kCrashed : TroubleKind::kInfra;
  }
}

// A driver's own exit handlers would wait for the kernel that hangs. This one is the last to be
// registered, so the first to run; the process's end frees what it holds on the GPU.
void leave_at_once_on_exit() {
  if (process_hangs.exchange(true)) return;
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

}  // namespace

bool has_lost_a_gpu() { return is_any_lost; }

Streams::~Streams() {
  if (context_ != nullptr) --open_devices;
  if (!can_free()) return;
  for (const Flow& flow : flows_) static_cast<void>(run(driver_.destroy_stream, flow.stream));
}

bool Streams::can_free() const { return context_ != nullptr && !is_lost() && !process_hangs; }

Outcome Streams::open(int device) {
  Outcome o = check(driver_.retain_context.name, driver_.retain_context(&context_, device));
  if (!o.ok()) {
    context_ = nullptr;
    return o;
  }
  ++open_devices;
  use(0);
  return is_lost() ? Outcome(lost_) : Done{};
}

Code Streams::enter() {
  thread_local const void* entered = nullptr;
  if (entered == context_) return 0;
  const Code code = driver_.set_context(context_);
  if (code == 0) entered = context_;
  return code;
}

Outcome Streams::check(const char* call, Code code) {
  if (code == 0) return Done{};
  Trouble trouble{kind_of(code), error_text(driver_, call, code)};
  return is_fault(code) ? noted(std::move(trouble)) : trouble;
}

// harness/bucket.cpp reads the kernel's name.
Trouble Streams::blaming_kernels(Trouble trouble) const {
  if (launched_.size() == 1) trouble.text += "\n  kernel " + launched_.front();
  if (launched_.size() > 1) {
    trouble.text += fmt::format("\n  one of the kernels {}; {} tells which",
                                fmt::join(launched_, ", "), driver_.in_turn);
  }
  if (open_devices > 1) trouble.text += "\n  or another device of this process";
  return trouble;
}

Trouble Streams::noted(Trouble trouble) {
  is_any_lost = true;
  if (trouble.kind != TroubleKind::kInfra) trouble = blaming_kernels(std::move(trouble));
  if (!is_lost()) {
    lost_.text =
        fmt::format("{} cannot be used any more by this process: {}", device_name_, trouble.text);
  }
  return trouble;
}

void Streams::use(int index) {
  ATTEST_CHECK(index >= 0);
  current_ = static_cast<std::size_t>(index);
  while (flows_.size() <= current_) {
    Flow flow;
    const Outcome made = run(driver_.create_stream, &flow.stream, kNonBlocking);
    if (!made.ok()) {
      // use_stream() returns nothing: what comes next says it.
      if (!is_lost()) lost_ = made.trouble();
      return;
    }
    flows_.push_back(flow);
  }
}

Result<Stream> Streams::for_work(std::span<const std::string> kernels) {
  if (is_lost()) return lost_;
  // With more than one stream, before the first launch on any of them: later it would wait for that
  // launch too.
  if (has_copies_ && flows_.size() > 1) {
    if (const Outcome o = wait(); !o.ok()) return o.trouble();
  }
  for (const std::string& name : kernels) {
    const bool is_known = std::find(launched_.begin(), launched_.end(), name) != launched_.end();
    if (!is_known) launched_.push_back(name);
  }
  flows_[current_].is_busy = true;
  return flows_[current_].stream;
}

Result<Stream> Streams::for_memory() {
  if (is_lost()) return lost_;
  const bool others_work =
      std::any_of(flows_.begin() + 1, flows_.end(), [](const Flow& f) { return f.is_busy; });
  if (others_work) {
    if (const Outcome o = wait(); !o.ok()) return o.trouble();
  }
  flows_.front().is_busy = has_copies_ = true;
  return flows_.front().stream;
}

Outcome Streams::wait_for(Flow& flow, Clock::time_point begin) {
  for (int polls = 0; flow.is_busy; ++polls) {
    const Code code = driver_.query_stream(flow.stream);
    if (code != kNotReady) {
      flow.is_busy = false;
      return check(driver_.query_stream.name, code);
    }
    // Most launches end within microseconds. Threads of one process ask one after the other.
    constexpr int kBriefPolls = 300;
    if (polls < kBriefPolls) {
      std::this_thread::yield();
      continue;
    }
    if (std::chrono::duration<double>(Clock::now() - begin).count() > limit_s_) {
      leave_at_once_on_exit();
      return noted({TroubleKind::kHung, fmt::format("no end within {} s", limit_s_)});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return Done{};
}

Outcome Streams::wait() {
  if (is_lost()) return lost_;
  if (const Code code = enter(); code != 0) return check(driver_.set_context.name, code);
  const auto begin = Clock::now();
  for (Flow& flow : flows_) {
    if (Outcome o = wait_for(flow, begin); !o.ok()) return o;
  }
  launched_.clear();
  has_copies_ = false;
  ++times_idle_;
  return Done{};
}

}  // namespace attest::gpu_driver
