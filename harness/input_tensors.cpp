#include "harness/input_tensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "harness/core/poison.hpp"

namespace attest {
namespace {

Number number_of(Storage storage) { return storage == Storage::kFp8 ? Number::kU8 : Number::kU16; }
std::string dtype_of(Storage storage) {
  return storage == Storage::kFp8 ? "float8_e4m3fnuz" : "bfloat16";
}

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

// The tables of the problem, from a file.
class TableReader {
 public:
  TableReader(const Problem& problem, const std::map<std::string, StoredTensor>& tensors)
      : problem_(problem), tensors_(tensors) {}

  Outcome read(Inputs& in) const {
    for (const auto& [name, table] : {std::pair{"qo_indptr", &in.qo_indptr},
                                      {"kv_indptr", &in.kv_indptr},
                                      {"kv_indices", &in.kv_indices},
                                      {"kv_last_page_len", &in.kv_last_page_len}}) {
      const auto found = tensors_.find(name);
      if (found == tensors_.end()) return usage(fmt::format("there is no tensor {}", name));
      const StoredTensor& tensor = found->second;
      if (tensor.type != Number::kI32 || tensor.shape.size() != 1)
        return usage(fmt::format("{} is no list of 32-bit integers", name));
      table->resize(tensor.bytes.size() / sizeof(std::int32_t));
      if (!table->empty()) std::memcpy(table->data(), tensor.bytes.data(), tensor.bytes.size());
    }
    return check(in);
  }

 private:
  Outcome check(const Inputs& in) const {
    const auto sequences = static_cast<std::size_t>(problem_.b());
    if (in.qo_indptr.size() != sequences + 1 || in.kv_indptr.size() != sequences + 1 ||
        in.kv_last_page_len.size() != sequences)
      return usage(fmt::format("its tables are not those of {} sequences", sequences));
    if (in.qo_indptr[0] != 0) return usage("qo_indptr does not begin with 0");
    for (int seq = 0; seq < problem_.b(); ++seq) {
      const std::int64_t pages = std::int64_t{in.kv_indptr[seq + 1]} - in.kv_indptr[seq];
      const int tokens = problem_.s_kv[seq], page = problem_.page_size;
      const int last = tokens == 0 ? 0 : (tokens - 1) % page + 1;
      if (in.qo_indptr[seq + 1] - std::int64_t{in.qo_indptr[seq]} != problem_.s_q[seq] ||
          pages != problem_.pages_of(seq) || in.kv_last_page_len[seq] != last)
        return usage(fmt::format(
            "its tables give sequence {} other lengths than s_q {} and s_kv {}, as its token has",
            seq, problem_.s_q[seq], tokens));
    }
    const auto entries = static_cast<std::int64_t>(in.kv_indices.size());
    if (in.kv_indptr.front() < 0 || in.kv_indptr.back() > entries)
      return usage(fmt::format("kv_indptr points outside the {} entries of kv_indices", entries));
    return Done{};
  }

  const Problem& problem_;
  const std::map<std::string, StoredTensor>& tensors_;
};

// Of q or kv: as it is to be, or what it is instead.
Outcome check_rows(const char* name, const std::map<std::string, StoredTensor>& tensors,
                   Storage storage, const std::vector<std::uint64_t>& shape) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) return usage(fmt::format("there is no tensor {}", name));
  const StoredTensor& tensor = found->second;
  if (tensor.type == number_of(storage) && tensor.shape == shape) return Done{};
  return usage(fmt::format("{} has the shape {} of {}; it is to have {} of {}", name, tensor.shape,
                           tensor.type == number_of(storage) ? "the right type" : "another type",
                           shape, dtype_of(storage)));
}

// Of the problem, which is what is computed with.
Outcome check_scale(const char* name, const std::map<std::string, StoredTensor>& tensors,
                    const std::vector<float>& wanted) {
  const auto found = tensors.find(name);
  if (found == tensors.end() && wanted.empty()) return Done{};
  if (found == tensors.end()) return usage(fmt::format("there is no tensor {}", name));
  const StoredTensor& tensor = found->second;
  const auto bytes = std::as_bytes(std::span{wanted});
  if (tensor.type == Number::kF32 && tensor.shape == std::vector<std::uint64_t>{wanted.size()} &&
      std::equal(bytes.begin(), bytes.end(), tensor.bytes.begin(), tensor.bytes.end()))
    return Done{};
  return usage(fmt::format("{} is not {}, as its token has it", name, wanted));
}

Outcome check_pages(const Problem& p, Inputs& in) {
  for (auto at = in.kv_indptr.front(); at < in.kv_indptr.back(); ++at) {
    const std::int32_t page = in.kv_indices[at];
    if (page < 0 || page >= in.num_pages)
      return usage(fmt::format("kv_indices[{}] is page {}, of {} pages", at, page, in.num_pages));
    in.used_pages.push_back(page);
  }
  std::sort(in.used_pages.begin(), in.used_pages.end());
  in.used_pages.erase(std::unique(in.used_pages.begin(), in.used_pages.end()), in.used_pages.end());
  const auto is_finite = [](Elements row) {
    for (int d = 0; d < kDQk; ++d) {
      if (!std::isfinite(row[d])) return false;
    }
    return true;
  };
  for (int seq = 0; seq < p.b(); ++seq) {
    for (int token = 0; token < p.s_kv[seq]; ++token) {
      const std::int64_t page = in.kv_indices[in.kv_indptr[seq] + token / p.page_size];
      const std::int64_t slot = page * p.page_size + token % p.page_size;
      if (!is_finite(in.kv_elements() + slot * kDQk))
        return usage(
            fmt::format("kv holds a NaN or an infinity in sequence {}, token {}", seq, token));
    }
  }
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const std::int64_t at = row / p.h_q * p.q_stride_t() + row % p.h_q * p.q_stride_h();
    if (!is_finite(in.q_elements() + at))
      return usage(fmt::format("q holds a NaN or an infinity in query token {}, head {}",
                               row / p.h_q, row % p.h_q));
  }
  return Done{};
}

}  // namespace

std::vector<InputTensor> input_tensors(const Problem& p, const Inputs& in) {
  const auto u = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const auto table = [](const char* name, const std::vector<std::int32_t>& values) {
    return InputTensor{
        name, Number::kI32, {values.size()}, std::as_bytes(std::span{values}), "int32"};
  };
  const auto scale = [](const char* name, const std::vector<float>& values) {
    return InputTensor{
        name, Number::kF32, {values.size()}, std::as_bytes(std::span{values}), "float32"};
  };
  std::vector<InputTensor> all = {{"q",
                                   number_of(in.q_type),
                                   {u(p.total_q()), u(p.h_q), u(p.q_stride_h())},
                                   in.q.bytes(),
                                   dtype_of(in.q_type)},
                                  {"kv",
                                   number_of(in.kv_type),
                                   {u(in.num_pages), u(p.page_size), kDQk},
                                   in.kv.bytes(),
                                   dtype_of(in.kv_type)},
                                  table("qo_indptr", in.qo_indptr),
                                  table("kv_indptr", in.kv_indptr),
                                  table("kv_indices", in.kv_indices),
                                  table("kv_last_page_len", in.kv_last_page_len)};
  if (!in.q_scale.empty()) all.push_back(scale("q_scale", in.q_scale));
  if (!in.kv_scale.empty()) all.push_back(scale("kv_scale", in.kv_scale));
  return all;
}

Result<Inputs> inputs_of_tensors(const Problem& p,
                                 const std::map<std::string, StoredTensor>& tensors) {
  const auto u = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  Outcome ok = check_rows("q", tensors, p.q_type, {u(p.total_q()), u(p.h_q), u(p.q_stride_h())});
  if (!ok.ok()) return ok.trouble();
  // So many pages as there are.
  const auto pages = tensors.find("kv");
  const bool has_pages = pages != tensors.end() && !pages->second.shape.empty();
  ok = check_rows("kv", tensors, p.kv_type,
                  {has_pages ? pages->second.shape[0] : 0, u(p.page_size), u(kDQk)});
  if (!ok.ok()) return ok.trouble();
  const StoredTensor &q = tensors.at("q"), &kv = pages->second;
  Inputs in;
  in.num_pages = static_cast<std::int64_t>(kv.shape[0]);
  ok = make_rows(p, p.total_q(), in.num_pages, kPoison16, in);
  if (!ok.ok()) return ok.trouble();
  std::copy(q.bytes.begin(), q.bytes.end(), in.q.bytes().begin());
  std::copy(kv.bytes.begin(), kv.bytes.end(), in.kv.bytes().begin());
  for (const auto& [name, wanted] :
       {std::pair{"q_scale", &in.q_scale}, {"kv_scale", &in.kv_scale}}) {
    ok = check_scale(name, tensors, *wanted);
    if (!ok.ok()) return ok.trouble();
  }
  ok = TableReader(p, tensors).read(in);
  if (!ok.ok()) return ok.trouble();
  ok = check_pages(p, in);
  if (!ok.ok()) return ok.trouble();
  return in;
}

}  // namespace attest
