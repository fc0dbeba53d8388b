#include "golden/golden_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "golden/digest.hpp"
#include "harness/core/case.hpp"

namespace attest {
namespace {

constexpr const char* kDigest = "xxh3_128";  // the attribute of a dataset
constexpr const char* kContent = "content_xxh3_128";
constexpr const char* kRowDigests = "row_xxh3_128";
constexpr const char* kLicence = "MIT";

using Shape = std::vector<std::uint64_t>;

struct Dataset {
  std::string name;  // below the case's group
  Number type;
  Shape shape;
  std::span<const std::byte> bytes;
  Attributes attributes;
};

struct TextField {
  const char* name;
  std::string GoldenCase::*text;
};
constexpr TextField kTexts[] = {
    {"token", &GoldenCase::token},           {"source", &GoldenCase::source},
    {"generator", &GoldenCase::generator},   {"reference", &GoldenCase::reference},
    {"contract", &GoldenCase::contract},     {"q_xxh3_128", &GoldenCase::digest_q},
    {"kv_xxh3_128", &GoldenCase::digest_kv}, {"tables_xxh3_128", &GoldenCase::digest_tables}};

std::string format_of(Storage storage) {
  return storage == Storage::kFp8 ? "float8_e4m3fnuz" : "bfloat16";
}

Attributes attributes_of(const GoldenCase& c, const Problem& problem) {
  Attributes all = {{"format", kGoldenFormat},
                    {"licence", std::string(kLicence)},
                    {"reference_bits", kReferenceBits},
                    {"error", c.error},
                    {"contract_xxh3_128", digest_of(c.contract)},
                    {"q_format", format_of(problem.q_type)},
                    {"kv_format", format_of(problem.kv_type)},
                    {"h_q", std::int64_t{problem.h_q}},
                    {"rows", problem.rows()}};
  for (const TextField& field : kTexts) all[field.name] = c.*field.text;
  return all;
}

std::vector<Dataset> datasets_of(const GoldenCase& c, std::uint64_t rows) {
  std::vector<Dataset> all;
  const auto add = [&](const std::string& name, Number type, Shape shape,
                       std::span<const std::byte> bytes, Attributes attributes) {
    Digest digest;
    digest.add(bytes);
    attributes[kDigest] = digest.text();
    all.push_back({name, type, std::move(shape), bytes, std::move(attributes)});
  };
  if (!c.has_values()) {
    add(kRowDigests, Number::kU8, {rows, 16}, std::as_bytes(std::span{c.row_digests}), {});
    return all;
  }
  for (const GoldenField& field : golden_fields()) {
    Shape shape = {rows};
    if (field.columns > 1) shape.push_back(static_cast<std::uint64_t>(field.columns));
    Attributes attributes;
    if (field.values == &GoldenCase::of_row) attributes["columns"] = std::string(kFactsOfRow);
    add(field.name, Number::kF64, std::move(shape), std::as_bytes(std::span{c.*field.values}),
        std::move(attributes));
  }
  for (const GoldenCase::Captured& input : c.captured)
    add("inputs/" + input.name, input.tensor.type, input.tensor.shape, input.tensor.bytes,
        {{"dtype", input.dtype}});
  return all;
}

void add_attributes(Digest& digest, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    const std::string text = std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
    digest.add(fmt::format("{} {} {} ", name, text.size(), text));
  }
}

// What the file's own digest is of: all attributes, those with the digests of the data among them.
class Content {
 public:
  void add(const std::string& name, const Attributes& attributes) {
    digest_.add(fmt::format("{}: ", name));
    add_attributes(digest_, attributes);
  }
  std::string text() const { return digest_.text(); }

 private:
  Digest digest_;
};

Outcome write_case(Hdf5File& file, const GoldenCase& c, Content& content) {
  const auto parsed = parse_token(c.token);
  if (!parsed.ok()) return parsed.trouble();
  const std::string id = golden_id(c.token);
  const Attributes attributes = attributes_of(c, parsed->problem);
  if (const Outcome o = file.write_group(id, attributes); !o.ok()) return o;
  content.add(id, attributes);
  if (!c.captured.empty()) {
    if (const Outcome o = file.write_group(id + "/inputs", {}); !o.ok()) return o;
  }
  for (const Dataset& set : datasets_of(c, static_cast<std::uint64_t>(parsed->problem.rows()))) {
    const std::string name = id + "/" + set.name;
    const Outcome o = file.write(name, set.type, set.shape, set.bytes.data(), set.attributes);
    if (!o.ok()) return o;
    content.add(name, set.attributes);
  }
  return Done{};
}

// ---- reading ----

class Reader {
 public:
  Reader(const Hdf5File& file, std::string path) : file_(file), path_(std::move(path)) {
    std::error_code none;
    // Deflate packs at most 1032 to 1.
    most_bytes_ = std::filesystem::file_size(path_, none) * 1100;
  }

  Result<GoldenFile> read() {
    const auto root = file_.attributes("/");
    if (!root.ok()) return root.trouble();
    if (const std::string why = why_not_this_format(*root); !why.empty()) return damaged("/", why);
    GoldenFile golden;
    if (!take(*root, "reason", golden.reason) || !take(*root, "changed", golden.changed))
      return damaged("/", "no reason, or not what changed");
    const auto ids = file_.names("/");
    if (!ids.ok()) return ids.trouble();
    Attributes own = *root;
    own.erase(kContent);
    content_.add("/", own);
    for (const std::string& id : *ids) {
      auto c = read_case(id);
      if (!c.ok()) return c.trouble();
      golden.cases.push_back(std::move(*c));
    }
    std::string kept;
    if (!take(*root, kContent, kept) || kept != content_.text())
      return damaged("/", "its content is not what it was when it was written");
    return golden;
  }

 private:
  Trouble damaged(const std::string& where, std::string_view what) const {
    return {TroubleKind::kUsage, fmt::format("{}: {}: {}", path_, where, what)};
  }
  template <class T>
  static bool take(const Attributes& from, const char* name, T& to) {
    const auto found = from.find(name);
    if (found == from.end() || !std::holds_alternative<T>(found->second)) return false;
    to = std::get<T>(found->second);
    return true;
  }
  static std::string why_not_this_format(const Attributes& attributes) {
    std::int64_t format = 0;
    if (!attributes.contains(kContent) || !take(attributes, "format", format))
      return "no file of `attest golden generate`";
    if (format == kGoldenFormat) return {};
    return fmt::format("golden format {}; this program reads {}", format, kGoldenFormat);
  }

  Result<GoldenCase> read_case(const std::string& id) {
    const auto attributes = file_.attributes(id);
    if (!attributes.ok()) return attributes.trouble();
    if (const std::string why = why_not_this_format_of_case(*attributes); !why.empty())
      return damaged(id, why);
    GoldenCase c;
    for (const TextField& field : kTexts) {
      if (!take(*attributes, field.name, c.*field.text))
        return damaged(id, fmt::format("no attribute {}", field.name));
    }
    const auto parsed = parse_token(c.token);
    if (!parsed.ok()) return damaged(id, parsed.trouble().text);
    if (golden_id(c.token) != id || !take(*attributes, "error", c.error) ||
        *attributes != attributes_of(c, parsed->problem))
      return damaged(id, "its attributes do not fit each other");
    content_.add(id, *attributes);
    if (const Outcome o = read_datasets(id, parsed->problem.rows(), c); !o.ok()) return o.trouble();
    return c;
  }
  static std::string why_not_this_format_of_case(const Attributes& attributes) {
    std::int64_t format = 0;
    return take(attributes, "format", format) && format == kGoldenFormat ? "" : "another format";
  }

  Outcome read_datasets(const std::string& id, std::int64_t rows, GoldenCase& c) {
    const auto names = file_.names(id);
    if (!names.ok()) return names.trouble();
    const auto count = static_cast<std::uint64_t>(rows);
    if (*names == std::vector<std::string>{kRowDigests}) {
      const auto tensor = read(id, kRowDigests, Number::kU8, Shape{count, 16});
      if (!tensor.ok()) return tensor.trouble();
      c.row_digests.resize(tensor->bytes.size());
      std::memcpy(c.row_digests.data(), tensor->bytes.data(), tensor->bytes.size());
      return Done{};
    }
    std::vector<std::string> wanted;
    for (const GoldenField& field : golden_fields()) wanted.emplace_back(field.name);
    if (c.source == "capture") wanted.emplace_back("inputs");
    std::sort(wanted.begin(), wanted.end());
    if (*names != wanted)
      return damaged(id, fmt::format("it holds {}, where {} are expected", fmt::join(*names, " "),
                                     fmt::join(wanted, " ")));
    for (const GoldenField& field : golden_fields()) {
      Shape shape = {count};
      if (field.columns > 1) shape.push_back(static_cast<std::uint64_t>(field.columns));
      const auto tensor = read(id, field.name, Number::kF64, shape);
      if (!tensor.ok()) return tensor.trouble();
      (c.*field.values).resize(tensor->bytes.size() / sizeof(double));
      std::memcpy((c.*field.values).data(), tensor->bytes.data(), tensor->bytes.size());
    }
    return c.source == "capture" ? read_captured(id, c) : Outcome{Done{}};
  }

  Outcome read_captured(const std::string& id, GoldenCase& c) {
    const auto names = file_.names(id + "/inputs");
    if (!names.ok()) return names.trouble();
    for (const std::string& name : *names) {
      auto tensor = read(id, "inputs/" + name, std::nullopt, std::nullopt);
      if (!tensor.ok()) return tensor.trouble();
      c.captured.push_back({name, dtype_, std::move(*tensor)});
    }
    return Done{};
  }

  // Without a type or shape: any.
  Result<StoredTensor> read(const std::string& id, const std::string& below,
                            std::optional<Number> type, std::optional<Shape> shape) {
    const std::string name = id + "/" + below;
    const auto attributes = file_.attributes(name);
    if (!attributes.ok()) return attributes.trouble();
    dtype_.clear();
    take(*attributes, "dtype", dtype_);
    content_.add(name, *attributes);
    const auto outline = file_.outline(name);
    if (!outline.ok()) return outline.trouble();
    if ((type && outline->type != *type) || (shape && outline->shape != *shape))
      return damaged(name, fmt::format("its shape is [{}], or its type another one than expected",
                                       fmt::join(outline->shape, ", ")));
    auto tensor = file_.read(name, most_bytes_ / bytes_of(outline->type));
    if (!tensor.ok()) return tensor;
    std::string kept;
    if (!take(*attributes, kDigest, kept) || kept != digest_of(tensor->bytes))
      return damaged(name, "its bytes are not those that were written: the digest differs");
    return tensor;
  }

  const Hdf5File& file_;
  const std::string path_;
  std::uint64_t most_bytes_ = 0;
  Content content_;
  std::string dtype_;  // of the dataset that was read last
};

}  // namespace

std::vector<GoldenField> golden_fields() {
  return {{"o_hi", &GoldenCase::o_hi, kDV, true},
          {"o_lo", &GoldenCase::o_lo, kDV, true},
          {"lse_hi", &GoldenCase::lse_hi, 1, true},
          {"lse_lo", &GoldenCase::lse_lo, 1, true},
          {"sum_a_abs_v", &GoldenCase::sum_a_abs_v, kDV, false},
          {"sum_a_dev", &GoldenCase::sum_a_dev, kDV, false},
          {"sum_aa_vv", &GoldenCase::sum_aa_vv, kDV, false},
          {"sum_a_spread_dev", &GoldenCase::sum_a_spread_dev, kDV, false},
          {"of_row", &GoldenCase::of_row, kFactsOfRowCount, false}};
}

std::array<std::uint8_t, 16> row_digest(std::span<const double> o_hi, std::span<const double> o_lo,
                                        double lse_hi) {
  std::vector<double> numbers;
  for (std::size_t d = 0; d < o_hi.size(); ++d) numbers.insert(numbers.end(), {o_hi[d], o_lo[d]});
  numbers.push_back(lse_hi);
  Digest digest;
  digest.add(numbers);
  return digest.bytes();
}

std::vector<std::uint8_t> digests_of_rows(const GoldenCase& c) {
  if (!c.has_values()) return c.row_digests;
  std::vector<std::uint8_t> all;
  for (std::size_t row = 0; row < c.lse_hi.size(); ++row) {
    const auto digest = row_digest(std::span{c.o_hi}.subspan(row * kDV, kDV),
                                   std::span{c.o_lo}.subspan(row * kDV, kDV), c.lse_hi[row]);
    all.insert(all.end(), digest.begin(), digest.end());
  }
  return all;
}

std::int64_t GoldenFile::rows() const {
  std::int64_t rows = 0;
  for (const GoldenCase& c : cases) rows += c.rows();
  return rows;
}

std::string golden_id(std::string_view token) { return digest_of(token).substr(0, 12); }

Outcome write_golden(const GoldenFile& golden, const std::string& path) {
  std::vector<const GoldenCase*> sorted;
  for (const GoldenCase& c : golden.cases) sorted.push_back(&c);
  std::sort(sorted.begin(), sorted.end(), [](const GoldenCase* a, const GoldenCase* b) {
    return golden_id(a->token) < golden_id(b->token);
  });
  const auto file = Hdf5File::create(path, Hdf5Style::kArchive);
  if (!file.ok()) return file.trouble();
  const Attributes root = {
      {"format", kGoldenFormat}, {"reason", golden.reason}, {"changed", golden.changed}};
  Content content;
  content.add("/", root);
  for (const GoldenCase* c : sorted) {
    if (const Outcome o = write_case(**file, *c, content); !o.ok()) return o;
  }
  Attributes all = root;
  all[kContent] = content.text();
  if (const Outcome o = (*file)->write_attributes(all); !o.ok()) return o;
  return (*file)->close([&](const std::string& part) -> Outcome {
    const auto read = read_golden(part);
    if (read.ok()) return Done{};
    return Trouble{TroubleKind::kInfra, fmt::format("{}: what was written cannot be read back: {}",
                                                    path, read.trouble().text)};
  });
}

Result<GoldenFile> read_golden(const std::string& path) {
  const auto file = Hdf5File::open(path);
  if (!file.ok()) return file.trouble();
  return Reader(**file, path).read();
}

}  // namespace attest
