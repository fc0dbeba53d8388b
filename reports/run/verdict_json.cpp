#include "reports/run/verdict_json.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace attest {
namespace {

// Each record's fields, once for writing and reading: `f` is a Writer or a Reader, the object const
// for a Writer.
template <class F, class T>
void fields(F& f, T& t);

template <class T>
Json written(const T& t);
template <class T>
Json written(const std::vector<T>& values);
template <std::size_t kSize>
Json written(const std::array<std::int64_t, kSize>& values);
Json written(double value);
Json written(Status status);

class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    json_[name] = written(value);
  }
  void bits(const char* name, std::uint32_t value) { json_[name] = fmt::format("0x{:x}", value); }
  // -1 stands for "there is nothing to lose".
  void share(const char* name, double value) {
    json_[name] = value < 0 ? Json(nullptr) : number(value);
  }
  // What most records have nothing to say about is left out.
  template <class T>
  void unless(const char* name, const T& value, const T& by_default) {
    if (value != by_default) (*this)(name, value);
  }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if (const auto found = json_.find(name); found != json_.end()) read(*found, value);
  }
  void bits(const char* name, std::uint32_t& value) {
    std::string text;
    (*this)(name, text);
    value = static_cast<std::uint32_t>(std::strtoul(text.c_str(), nullptr, 16));
  }
  void share(const char* name, double& value) {
    const auto found = json_.find(name);
    value = found == json_.end() || found->is_null() ? -1 : number_of(*found);
  }
  template <class T>
  void unless(const char* name, T& value, const T& by_default) {
    value = by_default;
    (*this)(name, value);
  }

 private:
  static void read(const Json& json, double& value) { value = number_of(json); }
  static void read(const Json& json, Status& status) {
    const auto text = json.get<std::string>();
    for (int s = 0; s <= static_cast<int>(Status::kXpass); ++s) {
      if (to_string(static_cast<Status>(s)) == text) status = static_cast<Status>(s);
    }
  }
  template <std::size_t kSize>
  static void read(const Json& json, std::array<std::int64_t, kSize>& values) {
    for (std::size_t i = 0; i < kSize && i < json.size(); ++i) values[i] = json[i].get<std::int64_t>();
  }
  template <class T>
  static void read(const Json& json, std::vector<T>& values) {
    values.clear();
    for (const Json& one : json) read(one, values.emplace_back());
  }
  template <class T>
  static void read(const Json& json, T& value) {
    if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
      Reader reader(json);
      fields(reader, value);
    } else {
      value = json.get<T>();
    }
  }

  const Json& json_;
};

template <class T>
Json written_object(const T& t) {
  Writer writer;
  fields(writer, t);
  return writer.take();
}

Json written(double value) { return number(value); }
Json written(Status status) { return to_string(status); }
template <std::size_t kSize>
Json written(const std::array<std::int64_t, kSize>& values) {
  return values;
}
template <class T>
Json written(const std::vector<T>& values) {
  Json json = Json::array();
  for (const T& value : values) json.push_back(written(value));
  return json;
}
template <class T>
Json written(const T& t) {
  if constexpr (std::is_class_v<T> && !std::is_same_v<T, std::string>) {
    return written_object(t);
  } else {
    return t;
  }
}

template <class Wanted, class T>
inline constexpr bool kIs = std::is_same_v<Wanted, std::remove_const_t<T>>;

template <class F, class T>
void worst_fields(F& f, T& w) {
  f("tensor", w.tensor);
  f("tier", w.tier);
  f("sequence", w.sequence);
  f("query_token", w.query_token);
  f("head", w.head);
  f("split", w.split);
  f("column", w.column);
  f("actual", w.actual);
  f("expected", w.expected);
  f.bits("actual_bits", w.actual_bits);
  f.bits("expected_bits", w.expected_bits);
  f("error", w.error);
  f("bound", w.bound);
  f("ratio", w.ratio);
  f("terms", w.terms);
}

template <class F, class T>
void evidence_fields(F& f, T& e) {
  f("logit_min", e.logit_min);
  f("logit_max", e.logit_max);
  f("n_eff_min", e.n_eff_min);
  f("n_eff_max", e.n_eff_max);
  f("flush_mass", e.flush_mass);
  f("gain_bias", e.gain_bias);
  f("condition_max", e.condition_max);
  f.share("tokens_visible", e.tokens_visible);
  f.share("pages_visible", e.pages_visible);
  f.share("splits_visible", e.splits_visible);
  f("smallest_weight_seen", e.smallest_weight_seen);
  f("mismatch", e.mismatch);
  f("rows_certified", e.rows_certified);
  f("reference_off", e.reference_off);
  f("strawmen", e.strawmen);
  f("scores", e.scores);
}

template <class F, class T>
void spread_fields(F& f, T& s) {
  f("tensor", s.tensor);
  f("sampled", s.sampled);
  f("by_ratio", s.by_ratio);
  f("by_ulp", s.by_ulp);
  f("ratio_median", s.ratio_median);
  f("ratio_p99", s.ratio_p99);
  f("bound_median", s.bound_median);
}

template <class F, class T>
void map_fields(F& f, T& m) {
  f("tensor", m.tensor);
  f("row_axis", m.row_axis);
  f("column_axis", m.column_axis);
  f("row_block", m.row_block);
  f("column_block", m.column_block);
  f("rows", m.rows);
  f("columns", m.columns);
  f("counts", m.counts);
}

template <class F, class T>
void case_fields(F& f, T& r) {
  f("token", r.token);
  f.unless("planned", r.planned, std::string{});
  f.unless("phase", r.phase, std::string{});
  f("status", r.verdict.status);
  f("reason", r.verdict.reason);
  f("bucket", r.verdict.bucket);
  f("broken_tier", r.verdict.broken_tier);
  f("blame", r.verdict.blame);
  f("source", r.verdict.source);
  f("remarks", r.verdict.remarks);
  f("checked", r.verdict.checked);
  f("wrong", r.verdict.wrong);
  f("schedules", r.verdict.schedules);
  f("contract", r.verdict.contract);
  f("total_ms", r.total_ms);
  f("kernel_ms", r.verdict.kernel_ms);
  f("at_s", r.at_s);
  f.unless("tries", r.tries, 1);
  f("worst", r.verdict.worst);
  f("spreads", r.verdict.spreads);
  f("fault_maps", r.verdict.fault_maps);
  f("evidence", r.verdict.evidence);
}

template <class F, class T>
void header_fields(F& f, T& h) {
  f("format", h.format);
  f("command", h.command);
  f("device", h.device);
  f("machine", h.machine);
  f("cases", h.cases);
  f("repro_options", h.repro_options);
  f.unless("again", h.again, std::string{});
  f("run", h.run);
  f("started", h.started);
  f("build", h.build);
  f("bounds", h.bounds);
  f.unless("shard", h.shard, std::string{});
  f.unless("plan", h.plan, std::string{});
  f.unless("resumed", h.resumed, false);
}

template <class F, class T>
void score_fields(F& f, T& s) {
  f("filter", s.filter);
  f("z", s.z);
  f("sequence", s.sequence);
  f("split", s.split);
  f("token_begin", s.token_begin);
  f("token_end", s.token_end);
}

template <class F, class T>
void fields(F& f, T& t) {
  if constexpr (kIs<BoundTerm, T>) {
    f("name", t.name);
    f("value", t.value);
  } else if constexpr (kIs<Worst, T>) {
    worst_fields(f, t);
  } else if constexpr (kIs<Score, T>) {
    score_fields(f, t);
  } else if constexpr (kIs<Evidence, T>) {
    evidence_fields(f, t);
  } else if constexpr (kIs<Spread, T>) {
    spread_fields(f, t);
  } else if constexpr (kIs<FaultMap, T>) {
    map_fields(f, t);
  } else if constexpr (kIs<CaseRecord, T>) {
    case_fields(f, t);
  } else if constexpr (kIs<RunHeader, T>) {
    header_fields(f, t);
  } else {
    static_assert(kIs<PlannedCase, T>);
    f("token", t.token);
    f("phase", t.phase);
    f("cost_ms", t.cost_ms);
  }
}

template <class T>
T read_as(const Json& json) {
  T t;
  Reader reader(json);
  fields(reader, t);
  return t;
}

}  // namespace

Json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr) : 0;
}

Json to_json(const RunHeader& header) { return written_object(header); }
Json to_json(const CaseRecord& record) { return written_object(record); }
Json to_json(const PlannedCase& planned) { return written_object(planned); }

Json to_json(const Tally& t) {
  return {{"passed", t.passed}, {"suspect", t.suspect}, {"vacuous", t.vacuous},
          {"failed", t.failed}, {"flaky", t.flaky},     {"crashed", t.crashed},
          {"hung", t.hung},     {"skipped", t.skipped}, {"infra", t.infra},
          {"xfail", t.xfail},   {"xpass", t.xpass},     {"interrupted", t.interrupted}};
}

RunHeader header_of(const Json& json) { return read_as<RunHeader>(json); }
CaseRecord case_of(const Json& json) { return read_as<CaseRecord>(json); }
PlannedCase planned_of(const Json& json) { return read_as<PlannedCase>(json); }

std::string to_line(const Json& json) {
  // A reason may quote bytes of a hostile file: what is no UTF-8 is replaced, not thrown.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attest
