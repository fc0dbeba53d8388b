#include "harness/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "harness/core/poison.hpp"

namespace attest {
namespace {

std::size_t page_bytes_of(const Inputs& inputs) { return inputs.kv.size() / inputs.num_pages; }

// The used pages of the pool, neighbours joined.
std::vector<Extent> used_extents(const Inputs& inputs) {
  const std::size_t page_bytes = page_bytes_of(inputs);
  std::vector<Extent> extents;
  for (const std::int32_t page : inputs.used_pages) {
    const std::size_t begin = page * page_bytes;
    if (!extents.empty() && extents.back().end == begin) {
      extents.back().end += page_bytes;
    } else {
      extents.push_back({begin, begin + page_bytes});
    }
  }
  return extents;
}

// What of the pool is compared afterwards: all of it, or of a huge one the used pages and both
// ends.
std::vector<Extent> compared_extents(const Inputs& inputs) {
  const std::size_t size = inputs.kv.size();
  if (size <= PoisonedMemory::kLazyBytes) return {{0, size}};
  constexpr std::size_t kEnd = std::size_t{1} << 20;
  std::vector<Extent> extents = used_extents(inputs);
  extents.push_back({0, kEnd});
  extents.push_back({size - kEnd, size});
  return extents;
}

// A serving engine's tables have room for more sequences than a batch holds; what never held one is
// hostile. Behind the batch's last one an earlier batch's may stand: what is described is at most
// too much.
std::size_t sequences_of(const Inputs& inputs) {
  const auto& indptr = inputs.kv_indptr;
  const auto end = std::find(indptr.begin(), indptr.end(), kHostilePage);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(end - indptr.begin(), 1)) - 1;
}

// Of the pool, the rows of tokens that a sequence has: the last page's tail is nobody's.
std::vector<Extent> token_extents(const Inputs& inputs) {
  const std::size_t page_bytes = page_bytes_of(inputs);
  const std::size_t row_bytes = std::size_t{kDQk} * bytes_of_element(inputs.kv_type);
  const std::size_t page_size = page_bytes / row_bytes;
  std::vector<std::size_t> tokens(inputs.num_pages);
  for (std::size_t seq = 0, end = sequences_of(inputs); seq < end; ++seq) {
    for (std::int32_t at = inputs.kv_indptr[seq]; at < inputs.kv_indptr[seq + 1]; ++at) {
      const bool last = at + 1 == inputs.kv_indptr[seq + 1];
      const std::int32_t page = inputs.kv_indices[at];
      if (page < 0 || page >= inputs.num_pages) continue;
      std::size_t& of_page = tokens[page];
      of_page = std::max<std::size_t>(of_page, last ? inputs.kv_last_page_len[seq] : page_size);
    }
  }
  std::vector<Extent> extents;
  for (const std::int32_t page : inputs.used_pages) {
    const std::size_t begin = page * page_bytes;
    const std::size_t end = begin + tokens[page] * row_bytes;
    if (!extents.empty() && extents.back().end == begin) {
      extents.back().end = end;
    } else {
      extents.push_back({begin, end});
    }
  }
  return extents;
}

// Of o, the rows without their pads; none where there are no pads.
std::vector<Extent> row_extents(const Problem& p) {
  std::vector<Extent> extents;
  for (std::int64_t row = 0; p.o_pad > 0 && row < p.rows(); ++row) {
    const std::size_t begin = row * p.o_stride_h() * 2;
    extents.push_back({begin, begin + std::size_t{kDV} * 2});
  }
  return extents;
}

// Takes the pads out of o; a pad that lost its poison is damage.
std::vector<std::uint16_t> without_pads(const Problem& p, const std::vector<std::uint16_t>& strided,
                                        std::uint16_t poison, std::vector<std::string>& damage) {
  std::vector<std::uint16_t> o;
  o.reserve(p.rows() * kDV);
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const auto begin = strided.begin() + row * p.o_stride_h();
    o.insert(o.end(), begin, begin + kDV);
    const auto pad_end = begin + p.o_stride_h();
    const auto written = std::find_if(begin + kDV, pad_end, [=](auto x) { return x != poison; });
    if (written != pad_end && damage.empty()) {
      damage.push_back(
          fmt::format("wrote into the pad of o behind query token {}, head {}, at column {}",
                      row / p.h_q, row % p.h_q, written - begin));
    }
  }
  return o;
}

std::array<const Buffer*, 4> outputs_of(const MlaTensors& t) {
  return {&t.o, &t.lse, &t.partial_o, &t.partial_lse};
}
constexpr std::array kOutputNames = {"o", "lse", "partial_o", "partial_lse"};

}  // namespace

OutputSizes output_sizes(const Kernel& kernel, const Problem& p) {
  const std::size_t rows = p.rows();
  const std::size_t splits = kernel.num_splits(p);
  const std::size_t partials = splits > 1 ? rows * splits : 0;
  return {.o = static_cast<std::size_t>(p.total_q() * p.o_stride_t() * 2),
          .lse = rows * 4,
          .partial_o = partials * kDV * (kernel.contract(p).arithmetic.bf16_partials ? 2 : 4),
          .partial_lse = partials * 4};
}

OutputSizes larger_of(const OutputSizes& a, const OutputSizes& b) {
  return {.o = std::max(a.o, b.o),
          .lse = std::max(a.lse, b.lse),
          .partial_o = std::max(a.partial_o, b.partial_o),
          .partial_lse = std::max(a.partial_lse, b.partial_lse)};
}

void Session::open(const std::string& code_objects, std::initializer_list<const Inputs*> inputs,
                   const OutputSizes& sizes) {
  device_.take_reports();  // of a session that ended before it collected: not this one's
  const auto module =
      device_.load_module(code_objects + "/" + kernel_.code_object(device_.target()));
  if (!module.ok()) return bench_.fail(module.trouble());
  module_ = *module;
  const auto allocate = [&](Buffer& buffer, const char* label, std::uint16_t fill,
                            const auto& bytes_in) {
    std::size_t most = 0;
    for (const Inputs* one : inputs) most = std::max(most, bytes_in(*one));
    bench_.allocate(buffer, label, most, fill);
  };
  const auto table = [](auto member) {
    return [member](const Inputs& one) { return bytes_of(one.*member).size(); };
  };
  const Inputs& first = **inputs.begin();
  kv_poison_ = poison_of(first.kv_type, poison_);
  allocate(tensors_.q, "q", poison_of(first.q_type, poison_),
           [](const Inputs& one) { return one.q.size(); });
  allocate(tensors_.kv, "kv", kv_poison_, [](const Inputs& one) { return one.kv.size(); });
  const auto allocate_table = [&](Buffer& buffer, const char* label, auto member) {
    allocate(buffer, label, poison_, table(member));
  };
  allocate_table(tensors_.q_scale, "q_scale", &Inputs::q_scale);
  allocate_table(tensors_.kv_scale, "kv_scale", &Inputs::kv_scale);
  allocate_table(tensors_.qo_indptr, "qo_indptr", &Inputs::qo_indptr);
  allocate_table(tensors_.kv_indptr, "kv_indptr", &Inputs::kv_indptr);
  allocate_table(tensors_.kv_indices, "kv_indices", &Inputs::kv_indices);
  allocate_table(tensors_.kv_last_page_len, "kv_last_page_len", &Inputs::kv_last_page_len);
  bench_.allocate(tensors_.o, "o", sizes.o);
  bench_.allocate(tensors_.lse, "lse", sizes.lse);
  bench_.allocate(tensors_.partial_o, "partial_o", sizes.partial_o);
  bench_.allocate(tensors_.partial_lse, "partial_lse", sizes.partial_lse);
}

void Session::write_pool(const Inputs& inputs) {
  std::vector<Extent> used = used_extents(inputs);
  // On hardware a copy costs microseconds however short it is: the pool goes in one, with the
  // poison between its pages, unless it is huge and sparse.
  if (!device_.is_emulated() && inputs.kv.size() <= PoisonedMemory::kLazyBytes) {
    bench_.write(tensors_.kv, 0, inputs.kv.bytes());
    const std::size_t end = used_.empty() ? 0 : used_.back().end;
    if (end > inputs.kv.size()) bench_.fill(tensors_.kv, {inputs.kv.size(), end}, kv_poison_);
    used_ = std::move(used);
    return;
  }
  if (used != used_) {
    for (const Extent& e : used_) bench_.fill(tensors_.kv, e, kv_poison_);
  }
  for (const Extent& e : used) {
    bench_.write(tensors_.kv, e.begin, inputs.kv.bytes().subspan(e.begin, e.end - e.begin));
  }
  used_ = std::move(used);
}

void Session::write(const Inputs& inputs) {
  bench_.write(tensors_.q, 0, inputs.q.bytes());
  write_pool(inputs);
  bench_.write(tensors_.q_scale, 0, bytes_of(inputs.q_scale));
  bench_.write(tensors_.kv_scale, 0, bytes_of(inputs.kv_scale));
  bench_.write(tensors_.qo_indptr, 0, bytes_of(inputs.qo_indptr));
  bench_.write(tensors_.kv_indptr, 0, bytes_of(inputs.kv_indptr));
  bench_.write(tensors_.kv_indices, 0, bytes_of(inputs.kv_indices));
  bench_.write(tensors_.kv_last_page_len, 0, bytes_of(inputs.kv_last_page_len));
  if (!failed()) describe_inputs(inputs);
}

void Session::describe_inputs(const Inputs& inputs) {
  const auto read_only = [&](const Buffer& buffer, std::vector<Extent> extents) {
    if (buffer.bytes > 0)
      device_.describe(buffer,
                       {.read_only = true, .unwritten = false, .extents = std::move(extents)});
  };
  const auto entries = [](std::size_t begin, std::size_t end) {
    return std::vector<Extent>{{begin * 4, end * 4}};
  };
  read_only(tensors_.q, {{0, inputs.q.size()}});
  read_only(tensors_.kv, token_extents(inputs));
  read_only(tensors_.q_scale, entries(0, inputs.q_scale.size()));
  read_only(tensors_.kv_scale, entries(0, inputs.kv_scale.size()));
  read_only(tensors_.qo_indptr, entries(0, inputs.qo_indptr.size()));
  read_only(tensors_.kv_indptr, entries(0, inputs.kv_indptr.size()));
  const auto first = inputs.kv_indptr.begin();
  const auto end = first + static_cast<std::ptrdiff_t>(sequences_of(inputs)) + 1;
  read_only(tensors_.kv_indices, entries(*first, *std::max_element(first, end)));
  read_only(tensors_.kv_last_page_len, entries(0, inputs.kv_last_page_len.size()));
}

void Session::describe_outputs(const Problem& problem) {
  const MlaTensors seen = tensors_of(problem);
  for (std::size_t i = 0; i < kOutputNames.size(); ++i) {
    const Buffer& whole = *outputs_of(tensors_)[i];
    BufferUse use{
        .read_only = false, .unwritten = true, .extents = {{0, outputs_of(seen)[i]->bytes}}};
    if (i == 0 && problem.o_pad > 0) use.extents = row_extents(problem);
    if (whole.bytes > 0) device_.describe(whole, use);
  }
}

void Session::poison_outputs() {
  for (const Buffer* buffer : outputs_of(tensors_)) {
    bench_.fill_with_poison(*buffer, {0, buffer->bytes});
    if (!failed() && buffer->bytes > 0)
      device_.describe(*buffer, {.read_only = false, .unwritten = true, .extents = {}});
  }
  left_.reset();
}

void Session::leave_outputs() {
  left_.emplace();
  for (std::size_t i = 0; i < left_->size(); ++i) {
    bench_.read(*outputs_of(tensors_)[i], (*left_)[i]);
  }
}

MlaTensors Session::tensors_of(const Problem& problem) const {
  const OutputSizes sizes = output_sizes(kernel_, problem);
  MlaTensors t = tensors_;
  const auto end = [](Buffer& buffer, std::size_t bytes) {
    buffer.bytes = bytes;
    if (bytes == 0) buffer = {};
  };
  end(t.o, sizes.o);
  end(t.lse, sizes.lse);
  end(t.partial_o, sizes.partial_o);
  end(t.partial_lse, sizes.partial_lse);
  return t;
}

template <class Run>
void Session::timed(const Run& run) {
  if (failed()) return;
  const auto begin = std::chrono::steady_clock::now();
  bench_.take(run());
  bench_.take(device_.synchronize());
  kernel_ms_ =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void Session::launch(const Problem& problem) {
  if (!failed()) describe_outputs(problem);
  timed([&] { return kernel_.launch(device_, module_, problem, tensors_of(problem)); });
}

Graph Session::capture(const Problem& problem) {
  if (failed()) return {};
  bench_.take(device_.begin_capture());
  if (failed()) return {};
  const Outcome launched = kernel_.launch(device_, module_, problem, tensors_of(problem));
  const Result<Graph> graph = device_.end_capture();
  if (!launched.ok() && launched.trouble().kind == TroubleKind::kUsage) {
    // What a device does not permit during a capture is the launcher's mistake.
    bench_.fail({TroubleKind::kCrashed, "it cannot be captured: " + launched.trouble().text});
  }
  bench_.take(launched);
  if (!graph.ok()) bench_.fail(graph.trouble());
  return failed() ? Graph{} : *graph;
}

void Session::replay(Graph graph, const Problem& problem) {
  if (!failed()) describe_outputs(problem);
  timed([&] { return device_.replay(graph); });
}

Output Session::parse(const Problem& p, std::vector<std::string>& damage) {
  const MlaTensors t = tensors_of(p);
  Output output;
  std::vector<std::uint16_t> strided;
  bench_.read(t.o, strided);
  output.o = without_pads(p, strided, poison_, damage);
  bench_.read(t.lse, output.lse);
  if (kernel_.contract(p).arithmetic.bf16_partials) {
    std::vector<std::uint16_t> halves;
    bench_.read(t.partial_o, halves);
    output.partial_o.assign(halves.begin(), halves.end());
  } else {
    bench_.read(t.partial_o, output.partial_o);
  }
  bench_.read(t.partial_lse, output.partial_lse);
  return output;
}

Output Session::read(const Problem& problem) {
  std::vector<std::string> ignored;
  return parse(problem, ignored);
}

// What the checks had found by then may say why.
Trouble Session::trouble_with_reports() {
  Trouble trouble = bench_.trouble();
  for (const CheckReport& report : device_.take_reports()) {
    if (!report.benign) trouble.text += "\nand " + to_string(report);
  }
  return trouble;
}

Result<Output> Session::collect(const Problem& problem, const Inputs& inputs) {
  if (failed()) return trouble_with_reports();
  std::vector<std::string> damage = bench_.guard_damage();
  Output output = parse(problem, damage);
  find_written_tails(problem, damage);
  find_changed_inputs(inputs, damage);
  if (failed()) return trouble_with_reports();
  for (const CheckReport& report : device_.take_reports())
    (report.benign ? output.remarks : damage).push_back(to_string(report));
  output.damage = std::move(damage);
  output.kernel_ms = kernel_ms_;
  return output;
}

void Session::find_written_tails(const Problem& problem, std::vector<std::string>& damage) {
  const MlaTensors seen = tensors_of(problem);
  for (std::size_t i = 0; i < kOutputNames.size(); ++i) {
    const Buffer& whole = *outputs_of(tensors_)[i];
    const std::size_t begin = outputs_of(seen)[i]->bytes / 2;
    if (begin == whole.bytes / 2) continue;
    std::vector<std::uint16_t> now;
    bench_.read(whole, now);
    for (std::size_t at = begin; at < now.size(); ++at) {
      if (now[at] == (left_ ? (*left_)[i][at] : poison_)) continue;
      damage.push_back(
          fmt::format("wrote behind the last row of {}, at byte {}", kOutputNames[i], at * 2));
      break;
    }
  }
}

void Session::find_changed_inputs(const Inputs& inputs, std::vector<std::string>& damage) {
  const auto compare = [&](const Buffer& buffer, const char* label, Extent extent,
                           std::span<const std::byte> expected) {
    if (auto text = bench_.change(buffer, label, extent, expected); !text.empty())
      damage.push_back(text);
    return !damage.empty();
  };
  const auto whole = [&](const Buffer& buffer, const char* label,
                         std::span<const std::byte> expected) {
    compare(buffer, label, {0, expected.size()}, expected);
  };
  whole(tensors_.q, "q", inputs.q.bytes());
  whole(tensors_.q_scale, "q_scale", bytes_of(inputs.q_scale));
  whole(tensors_.kv_scale, "kv_scale", bytes_of(inputs.kv_scale));
  whole(tensors_.qo_indptr, "qo_indptr", bytes_of(inputs.qo_indptr));
  whole(tensors_.kv_indptr, "kv_indptr", bytes_of(inputs.kv_indptr));
  whole(tensors_.kv_indices, "kv_indices", bytes_of(inputs.kv_indices));
  whole(tensors_.kv_last_page_len, "kv_last_page_len", bytes_of(inputs.kv_last_page_len));
  for (const Extent& extent : compared_extents(inputs)) {
    if (compare(tensors_.kv, "kv", extent, inputs.kv.bytes())) break;
  }
}

}  // namespace attest
