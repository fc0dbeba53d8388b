// For tests of the harness: a device whose memory is the host's, and a kernel that is plain C++ run
// at launch, with defects to choose from. It shows that verify() passes what is right and rejects
// what is wrong without any code object.
#pragma once
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "harness/core/elements.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

class FakeDevice : public Device {
 public:
  static constexpr std::size_t kGuard = 256;

  std::string name() const override { return "fake"; }
  std::string target() const override { return "host"; }
  MatrixUnit matrix_unit() const override { return MatrixUnit::kSequentialFma; }
  Result<Module> load_module(const std::string&) override { return Module{0}; }
  Result<Function> function(Module, const std::string&) override { return Function{0}; }

  Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                          std::uint16_t fill) override {
    if (label == refuse_to_allocate) return Trouble{TroubleKind::kInfra, "no memory for " + label};
    auto storage =
        std::make_unique<std::vector<std::uint16_t>>((bytes + 2 * kGuard + 256) / 2, fill);
    const auto begin = reinterpret_cast<std::uint64_t>(storage->data());
    const Buffer buffer{(begin + kGuard + 255) / 256 * 256, bytes};
    storage_[buffer.address] = {std::move(storage), fill};
    return buffer;
  }
  void release(const Buffer& buffer) override { storage_.erase(buffer.address); }
  void release_all() override { storage_.clear(); }
  Outcome write(const Buffer& buffer, std::size_t offset,
                std::span<const std::byte> from) override {
    if (is_capturing_) return Trouble{TroubleKind::kUsage, "a write during capture"};
    std::memcpy(reinterpret_cast<char*>(buffer.address) + offset, from.data(), from.size());
    return Done{};
  }
  Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) override {
    std::memcpy(to.data(), reinterpret_cast<char*>(buffer.address) + offset, to.size());
    return Done{};
  }
  std::string guard_damage(const Buffer& buffer) override {
    const auto* const begin = reinterpret_cast<const std::uint8_t*>(buffer.address);
    const std::uint16_t fill = storage_.at(buffer.address).second;
    for (std::size_t i = 0; i < kGuard; ++i) {
      const std::uint8_t expected = i % 2 == 0 ? fill & 0xff : fill >> 8;
      if (*(begin - kGuard + i) != expected) return "before it";
      if (begin[buffer.bytes + i] != expected) return "after it, byte " + std::to_string(i);
    }
    return {};
  }

  Outcome launch(Function, const LaunchConfig&, const KernelArguments&) override { return Done{}; }
  Outcome synchronize() override {
    if (!ends_with.text.empty()) return ends_with;
    return Done{};
  }
  Outcome begin_capture() override {
    graphs_.emplace_back();
    is_capturing_ = true;
    return Done{};
  }
  Result<Graph> end_capture() override {
    is_capturing_ = false;
    return Graph{static_cast<int>(graphs_.size()) - 1};
  }
  Outcome replay(Graph graph) override {
    for (const auto& work : graphs_.at(graph.id)) work();
    return Done{};
  }
  void set_schedule(Schedule schedule) override { this->schedule = schedule; }

  // What a fake kernel does at a launch: now, or, while a graph is captured, at each of its
  // replays.
  void run(const std::function<void()>& work) {
    if (is_capturing_) {
      graphs_.back().push_back(work);
    } else {
      work();
    }
  }
  bool is_capturing() const { return is_capturing_; }
  bool is_empty() const { return storage_.empty(); }

  std::string refuse_to_allocate;  // label
  Trouble ends_with;               // what synchronize() reports
  Schedule schedule;

 private:
  std::map<std::uint64_t, std::pair<std::unique_ptr<std::vector<std::uint16_t>>, std::uint16_t>>
      storage_;
  std::vector<std::vector<std::function<void()>>> graphs_;
  bool is_capturing_ = false;
};

enum class Defect {
  kNone,
  kDropLastToken,
  kMergeStartsAtSecondSplit,
  kLseInBase2,
  kDiagonalOffByOne,
  kReadsPastThePageTable,
  kSkipsTheAccumulatorsRescale,
  kLeavesARowUnwritten,
  kOtherHeadsLseInTheMerge,
  kWritesZeros,
  kWritesBeforeO,
  kWritesPadOfO,
  kChangesKv,
  kWritesDeadSplit,
  // Of fp8.
  kForgetsTheDescaleFactorOfQ,
  kForgetsTheDescaleFactorOfTheScores,
  kForgetsTheDescaleFactorOfV,
  // Only a second launch shows these.
  kKeepsTheFirstLengths,      // the launcher keeps the lengths of its first call
  kPlansAtCapture,            // lengths are frozen in a graph
  kSumsIntoItsWorkspace,      // all but the first launch add to the partials that they find
  kKeepsTheFirstPages,        // each row's first page is the one it had at the first launch
  kReturnsThePreviousAnswer,  // o and lse are those of the launch before
  kWritesTheLastRowOnce,      // and not at later launches
  kClearsLseFromTheHost,      // which a capture does not permit
  kWritesBehindTheBatch,      // of a larger batch, the row behind its last
};

class FakeKernel : public Kernel {
 public:
  explicit FakeKernel(Defect defect = Defect::kNone) : defect_(defect) {}

  std::string_view name() const override { return "fake_kernel"; }
  std::string_view summary() const override { return "plain C++"; }
  Contract contract(const Problem&) const override { return contract_; }
  std::string why_unsupported(const Problem& p) const override {
    return p.h_q == 13 ? "thirteen heads" : "";
  }
  int num_splits(const Problem& p) const override { return p.num_splits > 0 ? p.num_splits : 4; }
  std::string code_object(std::string_view) const override { return "none"; }

  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<FakeKernel>(defect_); }
  Outcome launch(Device& device, Module, const Problem& p, const MlaTensors& t) const override {
    auto& fake = static_cast<FakeDevice&>(device);
    if (!first_) first_ = p;
    if (defect_ == Defect::kClearsLseFromTheHost) {
      const std::vector<std::byte> zeros(t.lse.bytes);
      if (Outcome cleared = fake.write(t.lse, 0, zeros); !cleared.ok()) return cleared;
    }
    // In a graph the lengths of now are those of the tables.
    const bool reads_tables = fake.is_capturing() && defect_ != Defect::kPlansAtCapture;
    fake.run([this, p, t, reads_tables] {
      Problem now = reads_tables ? as_the_tables_say(p, t) : p;
      for (int seq = 0; seq < now.b(); ++seq) keep_length(seq, t, now);
      run(now, t);
    });
    return Done{};
  }

 private:
  template <class T>
  static T* at(const Buffer& buffer) {
    return reinterpret_cast<T*>(buffer.address);
  }

  // What a graph must find when it is replayed.
  static Problem as_the_tables_say(Problem p, const MlaTensors& t) {
    for (int seq = 0; seq < p.b(); ++seq) {
      const int pages = at<int>(t.kv_indptr)[seq + 1] - at<int>(t.kv_indptr)[seq];
      p.s_q[seq] = at<int>(t.qo_indptr)[seq + 1] - at<int>(t.qo_indptr)[seq];
      p.s_kv[seq] = pages == 0 ? 0 : (pages - 1) * p.page_size + at<int>(t.kv_last_page_len)[seq];
    }
    return p;
  }

  // Of a row that has pages now: no defect makes the fake read a table that has no entry for it.
  void keep_length(int seq, const MlaTensors& t, Problem& now) const {
    const bool has_pages = at<int>(t.kv_indptr)[seq + 1] > at<int>(t.kv_indptr)[seq];
    if (!has_pages) now.s_kv[seq] = 0;
    if (has_pages && defect_ == Defect::kKeepsTheFirstLengths && seq < first_->b()) {
      now.s_kv[seq] = first_->s_kv[seq];
    }
  }

  void run(const Problem& p, const MlaTensors& t) const {
    keep_first_pages(p, t);
    const int* const qo = at<int>(t.qo_indptr);
    for (int seq = 0; seq < p.b(); ++seq) {
      for (int i = 0; i < p.s_q[seq]; ++i) {
        for (int head = 0; head < p.h_q; ++head) run_row(p, t, seq, i, qo[seq] + i, head);
        if (num_splits(p) > 1) {
          for (int head = 0; head < p.h_q; ++head) merge(p, t, seq, qo[seq] + i, head);
        }
      }
    }
    damage(p, t);
    if (defect_ == Defect::kReturnsThePreviousAnswer) swap_answer(p, t);
    ++launches_;
  }

  void keep_first_pages(const Problem& p, const MlaTensors& t) const {
    if (launches_ > 0 || defect_ != Defect::kKeepsTheFirstPages) return;
    for (int seq = 0; seq < p.b(); ++seq) {
      const int entry = at<int>(t.kv_indptr)[seq];
      first_pages_.push_back(p.s_kv[seq] > 0 ? at<int>(t.kv_indices)[entry] : -1);
    }
  }

  void swap_answer(const Problem& p, const MlaTensors& t) const {
    const std::size_t count = p.total_q() * p.o_stride_t();
    const std::vector<std::uint16_t> o(at<std::uint16_t>(t.o), at<std::uint16_t>(t.o) + count);
    const std::vector<float> lse(at<float>(t.lse), at<float>(t.lse) + p.rows());
    if (answer_o_.size() == count) {
      std::copy(answer_o_.begin(), answer_o_.end(), at<std::uint16_t>(t.o));
      std::copy(answer_lse_.begin(), answer_lse_.end(), at<float>(t.lse));
    }
    answer_o_ = o;
    answer_lse_ = lse;
  }

  // Pages as the table gives them. Past its end the defective kernel reads the last entry's
  // neighbour page.
  Elements kv_row(const Problem& p, const MlaTensors& t, int seq, int token) const {
    const int* const indptr = at<int>(t.kv_indptr);
    const int entry = indptr[seq] + token / p.page_size;
    std::int64_t page = at<int>(t.kv_indices)[std::min(entry, indptr[seq + 1] - 1)];
    if (entry >= indptr[seq + 1])
      page = (page + 1) % (t.kv.bytes / (p.page_size * kDQk * bytes_of_element(p.kv_type)));
    if (token < p.page_size && seq < static_cast<int>(first_pages_.size()) &&
        first_pages_[seq] >= 0) {
      page = first_pages_[seq];
    }
    return Elements(at<std::byte>(t.kv), p.kv_type) +
           (page * p.page_size + token % p.page_size) * kDQk;
  }

  struct Softmax {
    double max = -HUGE_VAL, sum = 0;
    std::vector<double> o = std::vector<double>(kDV);
    void add(double x, const Elements& v, double v_scale, bool skip_rescale) {
      if (x > max) {
        const double factor = skip_rescale ? 1 : std::exp(max - x);
        sum *= std::exp(max - x);
        for (double& value : o) value *= factor;
        max = x;
      }
      const double p = std::exp(x - max);
      sum += p;
      for (int d = 0; d < kDV; ++d) o[d] += p * (v_scale * v[d]);
    }
    double lse() const { return sum == 0 ? -HUGE_VAL : max + std::log(sum); }
  };

  void run_row(const Problem& p, const MlaTensors& t, int seq, int i, int token, int head) const {
    int visible = p.visible(seq, i);
    if (defect_ == Defect::kDropLastToken && visible > 1) --visible;
    if (defect_ == Defect::kDiagonalOffByOne) visible = std::min(visible + 1, p.s_kv[seq]);
    if (defect_ == Defect::kReadsPastThePageTable && visible > 0) ++visible;
    const int splits = num_splits(p);
    const auto live = live_splits(contract_.split_rule, p.s_kv[seq], splits);
    if (live.empty() && splits == 1) write_final(p, t, token, head, Softmax{});
    const Elements q =
        Elements(at<std::byte>(t.q), p.q_type) + (token * p.q_stride_t() + head * p.q_stride_h());
    const auto descale = [&](const Buffer& factor, Defect forgets) {
      return factor.bytes > 0 && defect_ != forgets ? double{*at<float>(factor)} : 1;
    };
    const double of_scores = descale(t.q_scale, Defect::kForgetsTheDescaleFactorOfQ) *
                             descale(t.kv_scale, Defect::kForgetsTheDescaleFactorOfTheScores);
    const double of_values = descale(t.kv_scale, Defect::kForgetsTheDescaleFactorOfV);
    for (int split = 0; split < static_cast<int>(live.size()); ++split) {
      Softmax softmax;
      const int end =
          split + 1 == static_cast<int>(live.size()) ? visible : std::min(visible, live[split].end);
      for (int j = live[split].begin; j < end; ++j) {
        const Elements k = kv_row(p, t, seq, j);
        double x = 0;
        for (int d = 0; d < kDQk; ++d) x += double{q[d]} * k[d];
        softmax.add(x * p.sm_scale * of_scores, k, of_values,
                    defect_ == Defect::kSkipsTheAccumulatorsRescale);
      }
      if (splits == 1) return write_final(p, t, token, head, softmax);
      write_partial(p, t, (token * splits + split) * p.h_q + head, softmax);
    }
  }

  void write_partial(const Problem&, const MlaTensors& t, std::int64_t at_row,
                     const Softmax& s) const {
    at<float>(t.partial_lse)[at_row] = static_cast<float>(s.lse());
    const bool adds = defect_ == Defect::kSumsIntoItsWorkspace && launches_ > 0;
    for (int d = 0; d < kDV; ++d) {
      float& to = at<float>(t.partial_o)[at_row * kDV + d];
      to = static_cast<float>(s.o[d] / s.sum) + (adds ? to : 0);
    }
  }

  void merge(const Problem& p, const MlaTensors& t, int seq, int token, int head) const {
    const int splits = num_splits(p);
    const int live =
        static_cast<int>(live_splits(contract_.split_rule, p.s_kv[seq], splits).size());
    Softmax total;
    const int first = defect_ == Defect::kMergeStartsAtSecondSplit && live > 1 ? 1 : 0;
    for (int split = first; split < live; ++split) {
      const int lse_head = defect_ == Defect::kOtherHeadsLseInTheMerge ? (head + 1) % p.h_q : head;
      const std::int64_t row = (std::int64_t{token} * splits + split) * p.h_q;
      const double lse = at<float>(t.partial_lse)[row + lse_head];
      if (lse == -HUGE_VAL) continue;
      const double max = std::max(total.max, lse);
      const double old = std::exp(total.max - max), weight = std::exp(lse - max);
      total.max = max;
      total.sum = total.sum * old + weight;
      for (int d = 0; d < kDV; ++d) {
        total.o[d] = total.o[d] * old + weight * at<float>(t.partial_o)[(row + head) * kDV + d];
      }
    }
    write_final(p, t, token, head, total);
  }

  void write_final(const Problem& p, const MlaTensors& t, int token, int head,
                   const Softmax& s) const {
    const bool skips_a_row = defect_ == Defect::kLeavesARowUnwritten ||
                             (defect_ == Defect::kWritesTheLastRowOnce && launches_ > 0);
    if (skips_a_row && token == p.total_q() - 1 && head == p.h_q - 1) return;
    auto* const o = at<std::uint16_t>(t.o) + token * p.o_stride_t() + head * p.o_stride_h();
    for (int d = 0; d < kDV; ++d) {
      const double value = s.sum == 0 || defect_ == Defect::kWritesZeros ? 0 : s.o[d] / s.sum;
      o[d] = encode_bf16(value);
    }
    double lse = s.lse();
    if (defect_ == Defect::kLseInBase2) lse *= 1.4426950408889634;
    at<float>(t.lse)[token * p.h_q + head] = static_cast<float>(lse);
  }

  void damage(const Problem& p, const MlaTensors& t) const {
    if (defect_ == Defect::kWritesBeforeO) at<std::uint16_t>(t.o)[-1] = 0;
    if (defect_ == Defect::kWritesPadOfO) at<std::uint16_t>(t.o)[kDV] = 0;
    if (defect_ == Defect::kChangesKv) at<std::uint16_t>(t.kv)[t.kv.bytes / 2 - 1] = 0;
    if (defect_ == Defect::kWritesBehindTheBatch && launches_ > 0) {
      at<float>(t.lse)[p.rows()] = 0;
    }
    if (defect_ == Defect::kWritesDeadSplit) {
      at<float>(t.partial_lse)[std::int64_t{num_splits(p)} * p.total_q() * p.h_q - 1] = 0;
    }
  }

  Defect defect_;
  Contract contract_;
  // What a launcher may remember of earlier calls.
  mutable std::optional<Problem> first_;
  mutable std::vector<int> first_pages_;
  mutable std::vector<std::uint16_t> answer_o_;
  mutable std::vector<float> answer_lse_;
  mutable int launches_ = 0;
};

}  // namespace attest
