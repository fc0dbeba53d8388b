#include "kernels/external/aiter.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "kernels/external/aiter_arguments.hpp"
#include "kernels/external/merge.hpp"
#include "kernels/external/user_object.hpp"
#include "kernels/external/work_plan.hpp"
#include "kernels/external/workspace.hpp"

namespace attest::external {
namespace {

constexpr int kUsualSplits = 4;  // where the problem leaves it to the adapter
constexpr std::uint32_t kThreads = 256;

std::string text(int value) { return std::to_string(value); }
std::uint32_t dim(std::int64_t x) { return static_cast<std::uint32_t>(x); }

std::string name_of(Storage storage) { return storage == Storage::kFp8 ? "fp8" : "bf16"; }

std::string why_storage_refused(const AiterObject& object, const Problem& p) {
  if (p.q_type == object.q && p.kv_type == object.kv) return "";
  return "it takes q in " + name_of(object.q) + " and the cache in " + name_of(object.kv) +
         ": ask for qt and kvt";
}

std::string why_shape_refused(const AiterObject& object, const Problem& p) {
  if (p.h_q != object.heads) {
    return "it computes " + text(object.heads) + " heads, not " + text(p.h_q);
  }
  const auto [least, most] = std::minmax_element(p.s_q.begin(), p.s_q.end());
  if (*least != *most) return "every sequence of a launch has as many query tokens";
  if (*least < object.least_s_q || *most > object.most_s_q) {
    return "its launcher takes it for " + text(object.least_s_q) + " to " + text(object.most_s_q) +
           " query tokens, not " + text(*most);
  }
  return "";
}

std::string why_lengths_refused(const AiterObject&, const Problem& p) {
  for (int seq = 0; seq < p.b(); ++seq) {
    if (p.s_kv[seq] > 0 && p.s_kv[seq] < p.s_q[seq]) {
      return "it defines no query token that sees nothing of its sequence: positions are compared "
             "unsigned";
    }
  }
  return "";
}

// What the objects assume of memory and of numbers.
std::string why_layout_refused(const AiterObject& object, const Problem& p) {
  if (p.page_size != 1) return "it takes page_size 1: it does not read the size of a page";
  if (p.q_pad != 0 || p.o_pad != 0) return "its rows of q and o have no pads";
  if (!(p.sm_scale > 0)) return "it takes the largest q.k for the largest score: sm_scale > 0";
  // Twice the tokens: a pool has pages of nobody between those in use.
  const std::int64_t pages = p.page_base + 2 * p.total_kv();
  if (pages * kDQk * bytes_of_element(object.kv) >= std::int64_t{1} << 32) {
    return "it addresses the cache with 32-bit offsets: less than 4 GiB";
  }
  return "";
}

// aiter's planner leaves no item at a sequence's end with fewer tokens than query tokens
// (v1_2_device.cuh, tail_done_threshold); the objects compare positions of such a one unsigned.
std::string why_plan_refused(const AiterObject& object, const Problem& p) {
  if (!object.persistent) return "";
  for (int seq = 0; seq < p.b(); ++seq) {
    const auto live = live_splits(SplitRule{}, p.s_kv[seq], num_splits_of(object, p));
    if (!live.empty() && live.back().end - live.back().begin < p.s_q[seq]) {
      return "the last split of sequence " + text(seq) +
             " would have fewer tokens than query tokens";
    }
  }
  return "";
}

std::string why_splits_refused(const AiterObject& object, const Problem& p) {
  if (num_splits_of(object, p) > 1) return "";
  if (object.one_split == OneSplit::kFp32 || object.one_split == OneSplit::kFinal) return "";
  return "with one split it writes no lse; ask for splits=2 or more";
}

// P goes to e4m3fnuz as it is, by v_cvt_pk_fp8_f32: nearest even. The sum l takes it unrounded.
void round_p_to_fp8(Arithmetic& arithmetic) {
  arithmetic.p_bits = 4;
  arithmetic.p_min_exponent = -7;
  arithmetic.p_largest = 240;
}

class AiterKernel final : public Kernel {
 public:
  explicit AiterKernel(const AiterObject& object)
      : object_(object),
        summary_("aiter " + std::string(object.file) + " (give it with --code-object)") {}

  std::string_view name() const override { return object_.name; }
  std::string_view summary() const override { return summary_; }

  Contract contract(const Problem& problem) const override {
    Contract contract;
    // v_rcp_f32 and its product for 1 / l. lse: log2(l) times v_rcp_f32(log2 e), whose own ulp is a
    // second one of the log. Maxima and P are shared by four waves through LDS in steps that no
    // source declares: schedule_declared stays false.
    contract.arithmetic = {.exp_ulp = 1,
                           .log_ulp = 2,
                           .divide_u = 3,
                           .lse_in_log2 = false,
                           .tile_tokens = object_.tile};
    if (object_.q == Storage::kFp8) round_p_to_fp8(contract.arithmetic);
    if (num_splits(problem) > 1 && !object_.persistent) {
      contract.split_rule.dealt_tile = object_.tile;
    }
    if (writes_final(problem)) contract.empty_row = EmptyRow::kUnwritten;
    return contract;
  }
  std::string why_unsupported(const Problem& problem) const override {
    if (std::string why = why_refused(object_, problem); !why.empty()) return why;
    const auto path = find_user_object(object_.file, user_objects());
    return path.ok() ? "" : path.trouble().text;
  }
  int num_splits(const Problem& problem) const override { return num_splits_of(object_, problem); }
  std::string code_object(std::string_view target) const override {  // of the merge
    return "mla_decode." + std::string(target) + ".co";
  }
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<AiterKernel>(*this); }
  // The adapter, not the object: a launch writes split_indptr or a plan, and reorders partials.
  bool can_be_captured() const override { return false; }

  Outcome launch(Device& device, Module module, const Problem& problem,
                 const MlaTensors& tensors) const override {
    const auto path = find_user_object(object_.file, user_objects());
    if (!path.ok()) return path.trouble();
    const Result<Module> theirs = device.load_module(*path);
    if (!theirs.ok()) return theirs.trouble();
    const auto function = device.function(*theirs, std::string(object_.symbol));
    if (!function.ok()) return function.trouble();

    Workspace workspace(device);
    const Partials partials = partials_of(problem, tensors, workspace);
    AiterArguments arguments = arguments_of(problem, tensors, partials);
    const LaunchConfig config = object_.persistent
                                    ? persistent_launch(problem, tensors, workspace, arguments)
                                    : split_launch(problem, workspace, arguments);
    if (!workspace.outcome().ok()) return workspace.outcome();
    const Outcome ran = device.launch(*function, config, pack(arguments));
    if (!ran.ok() || writes_final(problem)) return ran;
    if (has_own_order(problem)) {
      const Outcome moved = reorder(device, problem, partials, tensors);
      if (!moved.ok()) return moved;
      return launch_merge(device, module, problem, tensors,
                          {tensors.partial_o, tensors.partial_lse, partials.num_splits, 0});
    }
    return launch_merge(device, module, problem, tensors, partials);
  }

 private:
  bool writes_final(const Problem& p) const {
    return object_.one_split == OneSplit::kFinal && num_splits(p) == 1;
  }
  // A work item's partial rows are those of its query tokens, one after another; attest has a query
  // token's splits one after another.
  bool has_own_order(const Problem& p) const {
    return object_.persistent && num_splits(p) > 1 && p.max_s_q() > 1;
  }

  Partials partials_of(const Problem& p, const MlaTensors& tensors, Workspace& workspace) const {
    const int splits = num_splits(p);
    const int tile = object_.persistent ? 0 : object_.tile;
    if (writes_final(p)) return {{}, {}, 1, tile};
    if (splits > 1 && !has_own_order(p)) {
      return {tensors.partial_o, tensors.partial_lse, splits, tile};
    }
    const auto rows = static_cast<std::size_t>(p.rows()) * static_cast<std::size_t>(splits);
    return {workspace.fresh("the adapter's partial_o", rows * kDV * sizeof(float)),
            workspace.fresh("the adapter's partial_lse", rows * sizeof(float)), splits, tile};
  }

  AiterArguments arguments_of(const Problem& p, const MlaTensors& tensors,
                              const Partials& partials) const {
    const std::int64_t rows = p.rows() / p.b();  // of a sequence
    return {.partial_o = partials.o.address,
            .partial_lse = partials.lse.address,
            .q = tensors.q.address,
            .kv = tensors.kv.address,
            .kv_indptr = tensors.kv_indptr.address,
            .kv_indices = tensors.kv_indices.address,
            .kv_last_page_len = tensors.kv_last_page_len.address,
            .sm_scale = p.sm_scale,
            .rows = dim(rows),
            .q_bytes = dim(rows * kDQk * bytes_of_element(object_.q)),
            .page_bytes = dim(p.page_size * kDQk * bytes_of_element(object_.kv)),
            .log2_page_size = dim(std::countr_zero(static_cast<unsigned>(p.page_size))),
            .qo_indptr = tensors.qo_indptr.address,
            .q_scale = tensors.q_scale.address,
            .kv_scale = tensors.kv_scale.address};
  }

  LaunchConfig split_launch(const Problem& p, Workspace& workspace, AiterArguments& a) const {
    const int splits = num_splits(p);
    std::vector<std::int32_t> split_indptr;
    for (int seq = 0; seq <= p.b(); ++seq) split_indptr.push_back(seq * splits);
    a.num_splits = dim(splits);
    a.splits = workspace.filled<std::int32_t>("split_indptr", split_indptr).address;
    a.bf16_nosplit = splits == 1 ? 1 : 0;
    const std::int64_t rows = p.rows() / p.b();
    const std::int64_t tiles = (rows + object_.rows_of_workgroup - 1) / object_.rows_of_workgroup;
    return {.grid = {dim(tiles), dim(p.b()), dim(splits)}, .block = {kThreads, 1, 1}};
  }

  // The launcher passes splitData.size(1), which is 1, for both split counts.
  LaunchConfig persistent_launch(const Problem& p, const MlaTensors& tensors, Workspace& workspace,
                                 AiterArguments& a) const {
    const WorkPlan plan =
        writes_final(p) ? plan_unsplit_work(p) : plan_work(p, SplitRule{}, num_splits(p));
    const std::array tables = {workspace.filled<std::int32_t>("work_indptr", plan.indptr).address,
                               workspace.filled<WorkItem>("work_info", plan.items).address};
    a.splits = workspace.filled<std::uint64_t>("work_meta_data", tables).address;
    a.o = tensors.o.address;
    a.num_splits = 1;
    a.bf16_nosplit = 1;
    if (writes_final(p)) a.lse = tensors.lse.address;
    return {.grid = {dim(static_cast<std::int64_t>(plan.indptr.size()) - 1)},
            .block = {kThreads, 1, 1}};
  }

  const AiterObject& object_;
  std::string summary_;
};

}  // namespace

std::string why_refused(const AiterObject& object, const Problem& problem) {
  if (!object.refused.empty()) return std::string(object.refused);
  for (auto* why : {why_storage_refused, why_shape_refused, why_lengths_refused, why_layout_refused,
                    why_plan_refused, why_splits_refused}) {
    if (std::string reason = why(object, problem); !reason.empty()) return reason;
  }
  return why_invalid(problem);
}

int num_splits_of(const AiterObject&, const Problem& problem) {
  return problem.num_splits > 0 ? problem.num_splits : kUsualSplits;
}

std::span<const Kernel* const> aiter_kernels() {
  static const auto owned = [] {
    std::vector<AiterKernel> kernels;
    for (const AiterObject& object : aiter_objects()) kernels.emplace_back(object);
    return kernels;
  }();
  static const auto pointers = [] {
    std::vector<const Kernel*> list;
    for (const AiterKernel& kernel : owned) list.push_back(&kernel);
    return list;
  }();
  return pointers;
}

}  // namespace attest::external
