#include "harness/device/emulator/interleave.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "harness/device/emulator/arrival.hpp"
#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/checks/uses.hpp"
#include "harness/device/emulator/store_buffer.hpp"

namespace attest::emulator {
namespace {

// An MI300X has 304 compute units: a persistent kernel may count on that many workgroups at once.
constexpr u64 kMostGroups = 304;
// Host memory: a wave takes 130 KiB.
constexpr u64 kMostWaves = 2048;

// What the schedule needs to know of an instruction.
struct Trait {
  bool is_point = false;       // what it does depends on other waves, or they on it
  bool vector_memory = false;  // vmcnt counts it
  int vmcnt = -1;              // of s_waitcnt; -1: it does not wait for it
};

Trait trait_of(std::string_view text) {
  const auto is = [&](std::string_view prefix) { return text.starts_with(prefix); };
  Trait trait;
  trait.vector_memory = in_vmcnt(text);
  trait.is_point = is("global_") || is("flat_") || is("buffer_") || is("ds_") || is("s_load_") ||
                   is("s_buffer_load_") || is("s_waitcnt");
  constexpr std::string_view kCounter = "vmcnt(";
  if (const std::size_t at = text.find(kCounter); is("s_waitcnt") && at != text.npos) {
    std::from_chars(text.data() + at + kCounter.size(), text.data() + text.size(), trait.vmcnt);
  }
  return trait;
}

// The ways of a schedule, drawn once a launch.
struct Manner {
  explicit Manner(u64 choice)
      : groups(2 + choice % 7),
        slow_groups((choice >> 8 & 1) != 0),
        slow_waves((choice >> 9 & 1) != 0),
        settles_one_in(u64{2} << 2 * (choice >> 16 & 3)) {}

  u64 groups;                    // resident at first
  bool slow_groups, slow_waves;  // some come to their turn less often
  u64 settles_one_in;            // turns, 2 to 128: a delayed store reaches memory unasked
};

// The check of visibility moves accesses into caches of its own, whose lines come and go: a store
// on its way into one would be lost.
bool are_stores_late(const RunOptions& options) {
  return options.schedule.kind == ScheduleKind::kDelayed &&
         !(options.monitor && options.monitor->moves_accesses());
}

class Interleaver {
 public:
  Interleaver(const LaunchContext& context, std::span<const u32> order)
      : context_(context),
        order_(order),
        most_(static_cast<std::size_t>(most_resident(context.launch, order.size()))),
        most_without_end_(2 * context.options.instruction_budget),
        delays_(are_stores_late(context.options)),
        random_(next_choice(context.options.schedule.seed)),
        manner_(draw()),
        cache_(context.program.insts.size()) {
    for (const std::string& text : context.program.text) traits_.push_back(trait_of(text));
  }

  Interleaved run() {
    const KeptHostControl control;
    for (u64 i = 0; i < manner_.groups; ++i) admit();
    std::optional<Trouble> trouble;
    while (!ready_.empty() && !trouble) trouble = take_turn();
    settle_all();
    return {executed_, std::move(trouble)};
  }

 private:
  struct Place {
    Place(const LaunchContext& context, std::vector<AddressRange>& cache, int slot)
        : resident(context, cache, slot) {}
    Resident resident;
    int ready = 0;     // waves that neither wait nor have ended
    int slowness = 0;  // of the workgroup, see Turn
    std::unique_ptr<StoreBuffer> stores;
  };
  // A wave that can go on. Of the turns that it is drawn for it takes one in 2^slowness.
  struct Turn {
    Place* place;
    Wave* wave;
    int slowness;
  };

  u64 draw() { return random_ = next_choice(random_); }
  bool one_in(u64 count) { return draw() % count == 0; }
  int draw_slowness(bool wanted) { return wanted ? 2 * static_cast<int>(draw() % 3) : 0; }

  void admit() {
    if (places_.size() >= most_ || next_ >= order_.size()) return;
    places_.push_back(std::make_unique<Place>(context_, cache_, static_cast<int>(places_.size())));
    start(*places_.back());
  }
  void start(Place& place) {
    idle_ = 0;
    if (delays_) place.stores = std::make_unique<StoreBuffer>(context_.launch.waves);
    place.resident.group.stores = place.stores.get();
    place.resident.start(order_[next_++]);
    place.slowness = draw_slowness(manner_.slow_groups);
    make_ready(place);
  }
  void make_ready(Place& place) {
    for (const auto& wave : place.resident.waves) {
      if (wave->ended) continue;
      ready_.push_back({&place, wave.get(), place.slowness + draw_slowness(manner_.slow_waves)});
      ++place.ready;
    }
  }

  std::size_t choose() {
    while (true) {
      const u64 choice = draw();
      const std::size_t chosen = choice % ready_.size();
      if ((choice >> 40 & ((u64{1} << ready_[chosen].slowness) - 1)) == 0) return chosen;
    }
  }

  std::optional<Trouble> take_turn() {
    const std::size_t chosen = choose();
    Place& place = *ready_[chosen].place;
    Wave& w = *ready_[chosen].wave;
    const Flow flow = run_wave(place, w);
    if (flow == Flow::kFault) return Trouble{TroubleKind::kCrashed, std::move(w.fault)};
    if (place.resident.budget == 0) return place.resident.hung(w);
    if (executed_ - executed_at_end_ > most_without_end_) {
      return place.resident.hung(
          w, fmt::format("no workgroup ended in {} wave instructions of all", most_without_end_));
    }
    if (flow == Flow::kBarrier || flow == Flow::kEnd) {
      (flow == Flow::kEnd ? w.ended : w.waiting) = true;
      ready_[chosen] = ready_.back();
      ready_.pop_back();
      if (--place.ready == 0) all_stopped(place);
    }
    if (flow == Flow::kYield) idle_ += kSleep;
    if (idle_ > kPatience) {
      idle_ = 0;
      admit();
    }
    if (delays_) settle_some();
    return std::nullopt;
  }

  void all_stopped(Place& place) {
    if (place.resident.release_barrier()) return make_ready(place);
    executed_at_end_ = executed_;
    if (delays_ && !place.stores->empty()) left_.push_back(std::move(place.stores));
    if (next_ < order_.size()) start(place);
  }

  Flow run_wave(Place& place, Wave& w) {
    set_host_control(host_control_f32(w.mode));
    const u64 choice = draw();
    const u64 limit = std::min(1 + choice % 256, place.resident.budget);
    u64 left = limit, points = u64{1} << (choice >> 8) % 5;
    Monitor* const monitor = place.resident.group.monitor;
    Flow flow = Flow::kNext;
    while (left > 0 && points > 0 && flow == Flow::kNext) {
      const Inst& in = context_.program.insts[w.pc++];
      const Trait& trait = traits_[in.index];
      --left;
      points -= trait.is_point ? 1 : 0;
      if (monitor) monitor->before(w, in);
      if (delays_) count(place, w, trait);
      flow = in.run(w, in);
      if (monitor) monitor->after(w, in, flow);
    }
    place.resident.budget -= limit - left;
    executed_ += limit - left;
    idle_ += limit - left;
    return flow;
  }

  void count(Place& place, const Wave& w, const Trait& trait) {
    if (trait.vector_memory) place.stores->issue(w.id);
    if (trait.vmcnt >= 0) place.stores->wait(w.id, static_cast<u32>(trait.vmcnt));
  }

  // Sooner or later a store reaches memory, also of a workgroup that has ended.
  void settle_some() {
    if (!one_in(manner_.settles_one_in)) return;
    const std::size_t chosen = draw() % (places_.size() + left_.size());
    StoreBuffer* const stores = chosen < places_.size() ? places_[chosen]->stores.get()
                                                        : left_[chosen - places_.size()].get();
    if (!stores) return;
    stores->settle_some(draw());
    if (chosen >= places_.size() && stores->empty())
      left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(chosen - places_.size()));
  }
  void settle_all() {
    for (const auto& stores : left_) stores->settle_all();
    left_.clear();
    for (const auto& place : places_) {
      if (place->stores) place->stores->settle_all();
    }
  }

  // Wave instructions without an end of a workgroup after which another one is let in: what runs
  // may wait for it. To sleep is to wait.
  static constexpr u64 kPatience = u64{1} << 17, kSleep = u64{1} << 10;

  const LaunchContext& context_;
  std::span<const u32> order_;
  std::size_t next_ = 0;  // in the order
  const std::size_t most_;
  const u64 most_without_end_;  // wave instructions: hundreds that hang would spend many budgets
  const bool delays_;
  u64 random_;
  const Manner manner_;
  std::vector<AddressRange> cache_;
  std::vector<Trait> traits_;  // [instruction]
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<Turn> ready_;
  std::vector<std::unique_ptr<StoreBuffer>> left_;     // by workgroups that have ended
  u64 idle_ = 0, executed_ = 0, executed_at_end_ = 0;  // of the last workgroup that ended
};

}  // namespace

int most_resident(const LaunchState& launch, u64 groups) {
  const u64 by_memory = std::max<u64>(1, kMostWaves / static_cast<u64>(launch.waves));
  return static_cast<int>(std::min({kMostGroups, by_memory, groups}));
}

Interleaved run_interleaved(const LaunchContext& context, std::span<const u32> order) {
  return Interleaver(context, order).run();
}

}  // namespace attest::emulator
