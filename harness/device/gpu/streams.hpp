// Streams of one device: what is in flight on them, in which order, and what became of it. The
// first fault or hang makes the device lost: every later call says so and does nothing.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/trouble.hpp"
#include "harness/device/gpu/driver.hpp"

namespace attest::gpu_driver {

// Whether a fault or a hang has made a GPU useless for this process, whichever of its devices saw
// it.
bool has_lost_a_gpu();

// Our streams do not wait for the legacy default stream, nor it for them: nothing of ours goes
// there. Stream 0 is also the one of all fills and copies, which are ordered with launches on every
// stream.
class Streams {
 public:
  // `limit_s`: what takes longer hangs.
  Streams(const Driver& driver, std::string device_name, double limit_s)
      : driver_(driver), device_name_(std::move(device_name)), limit_s_(limit_s) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Outcome open(int device);
  const Driver& driver() const { return driver_; }

  // A call of the driver in this device's context, whichever thread it comes from.
  template <class... P, class... A>
  Code attempt(const Call<Code(P...)>& call, A... arguments) {
    const Code entered = enter();
    return entered != 0 ? entered : call(arguments...);
  }
  // The same as an outcome: kUsage when the code object or the launch is to blame.
  template <class... P, class... A>
  Outcome run(const Call<Code(P...)>& call, A... arguments) {
    return is_lost() ? Outcome(lost_) : check(call.name, attempt(call, arguments...));
  }
  Outcome check(const char* call, Code code);

  // Where launches, captures and replays go from now on.
  void use(int index);
  // The stream for a launch of these kernels, behind all fills and copies.
  Result<Stream> for_work(std::span<const std::string> kernels);
  // The stream for fills and copies, behind all that was launched.
  Result<Stream> for_memory();
  // Waits for all of them. Trouble kCrashed or kHung names what was launched since the last time.
  Outcome wait();
  // How often all of it had ended: what was handed over before the last time is done with.
  std::uint64_t times_idle() const { return times_idle_; }

  bool is_lost() const { return !lost_.text.empty(); }
  const Trouble& lost() const { return lost_; }
  // Whether the driver may be asked to free things: behind a fault every call fails, and behind a
  // hang it would wait for ever.
  bool can_free() const;

 private:
  struct Flow {
    Stream stream = nullptr;
    bool is_busy = false;
  };
  using Clock = std::chrono::steady_clock;

  Code enter();
  Trouble noted(Trouble trouble);  // the device is lost
  Trouble blaming_kernels(Trouble trouble) const;
  Outcome wait_for(Flow& flow, Clock::time_point begin);

  const Driver& driver_;
  std::string device_name_;
  double limit_s_;
  void* context_ = nullptr;
  std::vector<Flow> flows_;
  std::size_t current_ = 0;
  bool has_copies_ = false;            // on stream 0, since the last wait
  std::vector<std::string> launched_;  // since the last wait, each once
  std::uint64_t times_idle_ = 0;
  Trouble lost_{TroubleKind::kInfra, ""};
};

}  // namespace attest::gpu_driver
