// Workgroups over host threads, waves of a workgroup under a seeded schedule.
#include <fmt/format.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <thread>

#include "harness/core/helpers.hpp"
#include "harness/core/random.hpp"
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/launch_state.hpp"
#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {
namespace {

// A schedule's choices are a function of its seed and the workgroup alone.
u64 mix(u64 x) { return mix64(x + kGolden); }

// What all host threads of a launch share.
struct Shared {
  const Program& program;
  const LaunchState& launch;
  Memory& memory;
  const RunOptions& options;
  std::vector<u32> order;  // of the workgroups
  std::atomic<u64> next{0};
  std::atomic<u64> instructions{0};
  std::mutex mutex{};
  std::optional<Trouble> trouble{};
  // Position in order of the first workgroup that failed. Those before it run on, so that the same
  // one is reported whatever the threads' speed.
  std::atomic<u64> trouble_at{~u64{0}};
  std::atomic<bool> out_of_memory{false};  // on some thread, which gave up

  void report(u64 position, Trouble t) {
    std::lock_guard lock(mutex);
    if (position < trouble_at) {
      trouble_at = position;
      trouble = std::move(t);
    }
  }
};

// One host thread's memory: the waves of one workgroup, reused from workgroup to workgroup.
class Worker {
 public:
  explicit Worker(Shared& shared) : shared_(shared), cache_(shared.program.insts.size()) {
    waves_.resize(shared.launch.waves);
    for (std::size_t i = 0; i < waves_.size(); ++i) {
      waves_[i] = std::make_unique<Wave>();
      waves_[i]->shadow = static_cast<int>(i);
    }
    group_.memory = &shared.memory;
    group_.cache = &cache_;
    group_.monitor = shared.options.monitor;
    group_.arith = shared.options.arith;
    group_.lds.resize(shared.launch.lds_bytes);
  }

  void run() {
    const u32 control = _mm_getcsr();
    while ((at_ = shared_.next++) < shared_.order.size() && !overtaken()) {
      start(shared_.order[at_]);
      if (auto trouble = run_workgroup()) shared_.report(at_, std::move(*trouble));
    }
    _mm_setcsr(control);
    shared_.instructions += executed_;
  }

 private:
  bool overtaken() const { return shared_.trouble_at < at_; }

  void start(u32 linear) {
    const LaunchState& launch = shared_.launch;
    group_.linear = linear;
    group_.id = {linear % launch.config.grid.x,
                 linear / launch.config.grid.x % launch.config.grid.y,
                 linear / launch.config.grid.x / launch.config.grid.y};
    // As bf16 and as fp32 no NaN but absurd: -1.7e38.
    std::fill(group_.lds.begin(), group_.lds.end(), std::byte{0xfe});
    for (int i = 0; i < launch.waves; ++i)
      init_wave(*waves_[i], shared_.program, launch, &group_, i);
    if (group_.monitor) group_.monitor->begin_workgroup(group_, waves_);
    random_ = mix(shared_.options.schedule.seed ^ mix(linear));
    budget_ = shared_.options.instruction_budget;
  }

  // Seed 0: a wave runs until it waits. Else a random one runs for a random number of instructions.
  int choose(int last) {
    const int count = shared_.launch.waves;
    const int from =
        shared_.options.schedule.seed ? static_cast<int>((random_ = mix(random_)) % count) : last;
    for (int i = 0; i < count; ++i) {
      Wave& w = *waves_[(from + i) % count];
      if (!w.ended && !w.waiting) return (from + i) % count;
    }
    return -1;
  }

  std::optional<Trouble> run_workgroup() {
    int last = 0;
    while (true) {
      const int chosen = choose(last);
      if (chosen < 0) {
        if (!release_barrier()) return std::nullopt;
        continue;
      }
      last = chosen;
      Wave& w = *waves_[chosen];
      const u64 quantum =
          shared_.options.schedule.seed ? 1 + (random_ = mix(random_)) % 50 : u64{1} << 20;
      switch (run_wave(w, quantum)) {
        case Flow::kFault:
          return Trouble{TroubleKind::kCrashed, std::move(w.fault)};
        case Flow::kBarrier:
          w.waiting = true;
          break;
        case Flow::kEnd:
          w.ended = true;
          break;
        case Flow::kYield:
          last = (chosen + 1) % shared_.launch.waves;
          break;
        case Flow::kNext:
          break;
      }
      if (budget_ == 0) return hung(w);
      if (overtaken()) return std::nullopt;
    }
  }

  // All waves that have not ended wait: they go on. False when all have ended.
  bool release_barrier() {
    bool any = false;
    for (auto& w : waves_) {
      any |= w->waiting;
      w->waiting = false;
    }
    if (any && group_.monitor) group_.monitor->barrier_released(group_);
    return any;
  }

  Flow run_wave(Wave& w, u64 quantum) {
    set_host_control(host_control_f32(w.mode));
    const Inst* insts = shared_.program.insts.data();
    const u64 limit = std::min(quantum, budget_);
    u64 left = limit;
    Flow flow = Flow::kNext;
    if (Monitor* const monitor = group_.monitor) {
      while (left > 0 && flow == Flow::kNext) {
        const Inst& in = insts[w.pc++];
        --left;
        monitor->before(w, in);
        flow = in.run(w, in);
        monitor->after(w, in, flow);
      }
    } else {
      while (left > 0 && flow == Flow::kNext) {
        const Inst& in = insts[w.pc++];
        --left;
        flow = in.run(w, in);
      }
    }
    executed_ += limit - left;
    budget_ -= limit - left;
    return flow;
  }

  Trouble hung(Wave& w) {
    fault(w, shared_.program.insts[std::min<std::size_t>(w.pc, shared_.program.insts.size() - 1)],
          fmt::format("no end after {} wave instructions of this workgroup",
                      shared_.options.instruction_budget));
    return {TroubleKind::kHung, std::move(w.fault)};
  }

  Shared& shared_;
  std::vector<AddressRange> cache_;
  std::vector<std::unique_ptr<Wave>> waves_;
  Workgroup group_;
  u64 at_ = 0;  // position in order of the workgroup that runs
  u64 random_ = 0, budget_ = 0, executed_ = 0;
};

void shuffle(std::vector<u32>& order, u64 seed) {
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[(seed = mix(seed)) % i]);
}

// The order of that many takes 1 GiB; to run them would take days.
constexpr u64 kMaxWorkgroups = u64{1} << 28;

// Of a grid; more than kMaxWorkgroups when the product is, even when it is beyond 64 bits.
u64 workgroups(const Dim3& grid) {
  const u64 plane = u64{grid.x} * grid.y;
  return plane > kMaxWorkgroups && grid.z != 0 ? plane : plane * grid.z;
}

}  // namespace

Result<RunStatistics> run(const Program& program, Memory& memory, const LaunchConfig& config,
                          std::span<const std::byte> arguments, const RunOptions& options) {
  auto launch = make_launch_state(program, config, arguments);
  if (!launch.ok()) return launch.trouble();
  const u64 groups = workgroups(config.grid);
  if (groups == 0 || groups > kMaxWorkgroups) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("kernel {}: a grid of {} x {} x {} workgroups; the emulator takes 1 "
                               "to {}",
                               program.kernel.name, config.grid.x, config.grid.y, config.grid.z,
                               kMaxWorkgroups)};
  }
  Shared shared{.program = program,
                .launch = *launch,
                .memory = memory,
                .options = options,
                .order = std::vector<u32>(groups)};
  std::iota(shared.order.begin(), shared.order.end(), 0u);
  if (options.schedule.seed) shuffle(shared.order, options.schedule.seed);

  memory.adopt("kernel arguments of " + program.kernel.name, launch->kernarg);
  memory.adopt("dispatch packet", launch->packet);
  if (options.monitor) {
    options.monitor->begin_launch(program, config, 1, launch->waves, launch->lds_bytes);
  }
  const int wanted = options.monitor       ? 1
                     : options.threads > 0 ? options.threads
                                           : static_cast<int>(std::thread::hardware_concurrency());
  const int threads = static_cast<int>(std::clamp<u64>(static_cast<u64>(wanted), 1, groups));
  const auto work = [&shared](int) {
    try {
      Worker(shared).run();
    } catch (const std::bad_alloc&) {
      shared.out_of_memory = true;  // not a Trouble: its text would need memory
    }
  };
  {
    const auto helpers = start_helpers(threads - 1, work);
    work(0);
  }
  if (options.monitor) options.monitor->end_launch();
  memory.abandon(launch->kernarg);
  memory.abandon(launch->packet);
  if (shared.out_of_memory) {
    return Trouble{TroubleKind::kInfra, "no memory on the host for another workgroup"};
  }
  if (shared.trouble) return *shared.trouble;
  return RunStatistics{shared.instructions, groups};
}

}  // namespace attest::emulator
