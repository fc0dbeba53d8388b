// Launches: workgroups over host threads or, interleaved, all on one (interleave.cpp); waves of a
// workgroup under its schedule.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "harness/core/helpers.hpp"
#include "harness/device/emulator/arrival.hpp"
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/interleave.hpp"

namespace attest::emulator {
namespace {

// What all host threads of a launch share.
struct Shared {
  const LaunchContext& context;
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

// One host thread: runs one workgroup after another.
class Worker {
 public:
  explicit Worker(Shared& shared)
      : shared_(shared),
        is_random_(schedule().kind == ScheduleKind::kSeeded && schedule().seed != 0),
        cache_(shared.context.program.insts.size()),
        resident_(shared.context, cache_, 0) {}

  void run() {
    const KeptHostControl control;
    while ((at_ = shared_.next++) < shared_.order.size() && !overtaken()) {
      const u32 linear = shared_.order[at_];
      resident_.start(linear);
      // A schedule's choices are a function of its seed and the workgroup alone.
      random_ = next_choice(schedule().seed ^ next_choice(linear));
      if (auto trouble = run_workgroup()) shared_.report(at_, std::move(*trouble));
    }
    shared_.instructions += executed_;
  }

 private:
  const Schedule& schedule() const { return shared_.context.options.schedule; }
  bool overtaken() const { return shared_.trouble_at < at_; }
  u64 draw() { return random_ = next_choice(random_); }

  // In order a wave runs until it waits. Else a random one runs for a random number of
  // instructions.
  int choose(int last) {
    const int count = shared_.context.launch.waves;
    const int from = is_random_ ? static_cast<int>(draw() % static_cast<u64>(count)) : last;
    for (int i = 0; i < count; ++i) {
      const Wave& w = *resident_.waves[static_cast<std::size_t>((from + i) % count)];
      if (!w.ended && !w.waiting) return (from + i) % count;
    }
    return -1;
  }

  std::optional<Trouble> run_workgroup() {
    int last = 0;
    while (true) {
      const int chosen = choose(last);
      if (chosen < 0) {
        if (!resident_.release_barrier()) return std::nullopt;
        continue;
      }
      last = chosen;
      Wave& w = *resident_.waves[static_cast<std::size_t>(chosen)];
      switch (run_wave(w, is_random_ ? 1 + draw() % 50 : u64{1} << 20)) {
        case Flow::kFault:
          return Trouble{TroubleKind::kCrashed, std::move(w.fault)};
        case Flow::kBarrier:
          w.waiting = true;
          break;
        case Flow::kEnd:
          w.ended = true;
          break;
        case Flow::kYield:
          last = (chosen + 1) % shared_.context.launch.waves;
          break;
        case Flow::kNext:
          break;
      }
      if (resident_.budget == 0) return resident_.hung(w);
      if (overtaken()) return std::nullopt;
    }
  }

  Flow run_wave(Wave& w, u64 quantum) {
    set_host_control(host_control_f32(w.mode));
    const Inst* insts = shared_.context.program.insts.data();
    const u64 limit = std::min(quantum, resident_.budget);
    u64 left = limit;
    Flow flow = Flow::kNext;
    if (Monitor* const monitor = resident_.group.monitor) {
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
    resident_.budget -= limit - left;
    return flow;
  }

  Shared& shared_;
  const bool is_random_;
  std::vector<AddressRange> cache_;
  Resident resident_;
  u64 at_ = 0;  // position in order of the workgroup that runs
  u64 random_ = 0, executed_ = 0;
};

bool is_interleaved(const Schedule& schedule) {
  return schedule.kind == ScheduleKind::kInterleaved || schedule.kind == ScheduleKind::kDelayed;
}

// More than one only where the order of arrival is not the schedule's to choose.
int host_threads(const RunOptions& options, u64 groups) {
  if (options.monitor || options.schedule.kind != ScheduleKind::kSeeded) return 1;
  const int wanted =
      options.threads > 0 ? options.threads : static_cast<int>(std::thread::hardware_concurrency());
  return static_cast<int>(std::clamp<u64>(static_cast<u64>(wanted), 1, groups));
}

// One thread's part of a launch; the whole of it where several workgroups run at once.
void run_on_this_thread(Shared& shared) {
  try {
    if (is_interleaved(shared.context.options.schedule)) {
      Interleaved ran = run_interleaved(shared.context, shared.order);
      shared.instructions += ran.instructions;
      if (ran.trouble) shared.report(0, std::move(*ran.trouble));
    } else {
      Worker(shared).run();
    }
  } catch (const std::bad_alloc&) {
    shared.out_of_memory = true;  // not a Trouble: its text would need memory
  }
}

// What a launch adds to the memory that its kernel may access.
class Adopted {
 public:
  Adopted(Memory& memory, const std::string& label, std::span<const std::byte> bytes)
      : memory_(memory), bytes_(bytes) {
    memory.adopt(label, bytes);
  }
  ~Adopted() { memory_.abandon(bytes_); }
  Adopted(const Adopted&) = delete;
  Adopted& operator=(const Adopted&) = delete;

 private:
  Memory& memory_;
  std::span<const std::byte> bytes_;
};

// The checks' part of a launch; false: there is no memory for it.
bool begin_watching(const LaunchContext& context, const LaunchConfig& config, u64 slots) {
  Monitor* const monitor = context.options.monitor;
  if (!monitor) return true;
  try {
    monitor->begin_launch(context.program, config, static_cast<int>(slots), context.launch.waves,
                          context.launch.lds_bytes);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
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
    return Trouble{TroubleKind::kRefused,
                   fmt::format("kernel {}: a grid of {} x {} x {} workgroups; the emulator takes 1 "
                               "to {}",
                               program.kernel.name, config.grid.x, config.grid.y, config.grid.z,
                               kMaxWorkgroups)};
  }
  const LaunchContext context{program, *launch, memory, options};
  const u64 resident = most_resident(*launch, groups);
  // A kernel whose grid is larger than what can be resident may count on arrival in order.
  const bool in_order = is_interleaved(options.schedule) && resident < groups;
  Shared shared{
      .context = context,
      .order = arrival_order(in_order ? Schedule{} : options.schedule, static_cast<u32>(groups))};

  const Adopted kernarg(memory, "kernel arguments of " + program.kernel.name, launch->kernarg),
      packet(memory, "dispatch packet", launch->packet);
  shared.out_of_memory =
      !begin_watching(context, config, is_interleaved(options.schedule) ? resident : 1);
  const auto work = [&shared](int) { run_on_this_thread(shared); };
  if (!shared.out_of_memory) {
    const auto helpers = start_helpers(host_threads(options, groups) - 1, work);
    work(0);
  }
  if (options.monitor) options.monitor->end_launch();
  if (shared.out_of_memory) {
    return Trouble{TroubleKind::kInfra,
                   "no memory on the host for another workgroup or its checks"};
  }
  if (shared.trouble) return *shared.trouble;
  return RunStatistics{shared.instructions, groups};
}

}  // namespace attest::emulator
