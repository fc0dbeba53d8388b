#include "golden/hdf5_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "golden/hdf5_handle.hpp"
#include "harness/core/part_file.hpp"

namespace attest {
namespace {

// Before any other call. HDF5 prints nothing: the trouble says it. And it does nothing when the
// program ends: there it crashes over a file that a full disk kept it from closing.
void begin_library() {
  H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

struct NumberRow {
  Number type;
  hid_t stored;
};
// A function: HDF5's constants are calls that open the library.
std::vector<NumberRow> numbers() {
  return {{Number::kU8, H5T_STD_U8LE},    {Number::kU16, H5T_STD_U16LE},
          {Number::kI32, H5T_STD_I32LE},  {Number::kU32, H5T_STD_U32LE},
          {Number::kF32, H5T_IEEE_F32LE}, {Number::kF64, H5T_IEEE_F64LE}};
}
NumberRow row_of(Number type) {
  const auto all = numbers();
  return *std::find_if(all.begin(), all.end(), [&](const NumberRow& r) { return r.type == type; });
}

constexpr std::uint64_t kChunkBytes = 1 << 20;

// Rows of the slowest dimensions, up to kChunkBytes.
std::vector<hsize_t> chunk_of(const std::vector<hsize_t>& shape, std::size_t element) {
  std::vector<hsize_t> chunk(shape);
  std::uint64_t bytes = element;
  for (const hsize_t n : shape) bytes *= n;
  for (hsize_t& n : chunk) {
    while (n > 1 && bytes > kChunkBytes) {
      bytes = bytes / n * ((n + 1) / 2);
      n = (n + 1) / 2;
    }
  }
  return chunk;
}

// Names and attributes in the header of their group, in whatever number: the heap that HDF5 1.10
// keeps many in frees memory that it never set when that heap's check sum is wrong.
void keep_in_header(hid_t options, bool is_group) {
  constexpr unsigned kMost = 65535;
  H5Pset_attr_phase_change(options, kMost, 0);
  if (is_group) H5Pset_link_phase_change(options, kMost, 0);
}

bool write_attribute(hid_t owner, const std::string& name, const Attribute& value) {
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle text(H5Tcopy(H5T_C_S1), H5Tclose);
  const auto put = [&](hid_t type, const void* data) {
    const Hdf5Handle attribute(
        H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    return attribute >= 0 && H5Awrite(attribute, type, data) >= 0;
  };
  if (const auto* s = std::get_if<std::string>(&value)) {
    H5Tset_size(text, std::max<std::size_t>(s->size(), 1));
    H5Tset_cset(text, H5T_CSET_UTF8);
    H5Tset_strpad(text, H5T_STR_NULLPAD);
    return put(text, s->data());
  }
  if (const auto* i = std::get_if<std::int64_t>(&value)) return put(H5T_STD_I64LE, i);
  return put(H5T_IEEE_F64LE, std::get_if<double>(&value));
}

bool write_attributes_to(hid_t owner, const Attributes& attributes) {
  return std::all_of(attributes.begin(), attributes.end(), [&](const auto& attribute) {
    return write_attribute(owner, attribute.first, attribute.second);
  });
}

// Empty, or why it is no text.
std::string read_text(hid_t attribute, std::string& text) {
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1)
    return "it is no single text";
  if (H5Tis_variable_str(type) > 0) {
    char* stored = nullptr;
    if (H5Aread(attribute, type, &stored) < 0 || stored == nullptr) return "it cannot be read";
    text = stored;
    H5free_memory(stored);
    return {};
  }
  text.assign(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, text.data()) < 0) return "it cannot be read";
  text.resize(std::min(text.find('\0'), text.size()));
  return {};
}

// One text, one integer or one float.
bool read_one(hid_t attribute, Attribute& value) {
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  if (H5Sget_simple_extent_npoints(space) != 1) return false;
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_STRING) return read_text(attribute, value.emplace<std::string>()).empty();
  if (kind == H5T_INTEGER)
    return H5Aread(attribute, H5T_NATIVE_INT64, &value.emplace<std::int64_t>()) >= 0;
  return kind == H5T_FLOAT && H5Aread(attribute, H5T_NATIVE_DOUBLE, &value.emplace<double>()) >= 0;
}

bool is_signed(hid_t stored) {
  return H5Tget_class(stored) == H5T_INTEGER && H5Tget_sign(stored) == H5T_SGN_2;
}

// Whether the numbers of a dataset have a type that is read here.
bool type_of(hid_t set, Number& type) {
  const Hdf5Handle stored(H5Dget_type(set), H5Tclose);
  const H5T_class_t kind = H5Tget_class(stored);
  const std::size_t bytes = H5Tget_size(stored);
  if (kind == H5T_FLOAT && (bytes == 4 || bytes == 8)) {
    type = bytes == 4 ? Number::kF32 : Number::kF64;
    return true;
  }
  type = bytes == 1          ? Number::kU8
         : bytes == 2        ? Number::kU16
         : is_signed(stored) ? Number::kI32
                             : Number::kU32;
  return kind == H5T_INTEGER && (bytes == 1 || bytes == 2 || bytes == 4);
}

// Of the same size and sign as stored: bits, not values, of a signed 16-bit integer that holds a
// bf16. To be closed.
hid_t as_stored(hid_t stored, Number type) {
  const std::size_t bytes = bytes_of(type);
  if (!is_signed(stored) || bytes == 4) return H5Tcopy(row_of(type).stored);
  return H5Tcopy(bytes == 1 ? H5T_STD_I8LE : H5T_STD_I16LE);
}

}  // namespace

std::size_t bytes_of(Number type) {
  switch (type) {
    case Number::kU8:
      return 1;
    case Number::kU16:
      return 2;
    case Number::kI32:
    case Number::kU32:
    case Number::kF32:
      return 4;
    case Number::kF64:
      return 8;
  }
  return 0;
}

struct Hdf5File::Impl {
  std::string path, written_as;  // written_as: empty when it is only read
  hid_t file = -1;
  unsigned deflate = 1;

  Trouble trouble(TroubleKind kind, std::string_view what) const {
    return {kind, fmt::format("{}: {}", path, what)};
  }
};

Hdf5File::Hdf5File(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Hdf5File::~Hdf5File() {
  if (impl_->file < 0) return;
  H5Fclose(impl_->file);
  if (!impl_->written_as.empty()) std::remove(impl_->written_as.c_str());
}

Result<std::unique_ptr<Hdf5File>> Hdf5File::create(const std::string& path, Hdf5Style style) {
  begin_library();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  const Hdf5Handle of_root(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  if (style == Hdf5Style::kArchive) {
    impl->deflate = 6;
    H5Pset_obj_track_times(of_root, false);
    keep_in_header(of_root, true);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  }
  const auto part = new_part_file(path);
  if (!part.ok())
    return impl->trouble(TroubleKind::kInfra, "it cannot be created (is its folder there?)");
  impl->written_as = *part;
  impl->file = H5Fcreate(part->c_str(), H5F_ACC_TRUNC, of_root, access);
  if (impl->file < 0) {
    std::remove(part->c_str());
    return impl->trouble(TroubleKind::kInfra, "HDF5 cannot create it");
  }
  return std::unique_ptr<Hdf5File>(new Hdf5File(std::move(impl)));
}

Result<std::unique_ptr<Hdf5File>> Hdf5File::open(const std::string& path) {
  begin_library();
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  std::error_code none;  // a name that no file can have is none that is there
  if (!std::filesystem::exists(path, none))
    return impl->trouble(TroubleKind::kUsage, "there is no such file");
  impl->file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (impl->file < 0)
    return impl->trouble(TroubleKind::kUsage, "no HDF5 file, or one that is cut off");
  return std::unique_ptr<Hdf5File>(new Hdf5File(std::move(impl)));
}

Outcome Hdf5File::write_group(const std::string& name, const Attributes& attributes) {
  const Hdf5Handle options(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
  H5Pset_obj_track_times(options, false);
  keep_in_header(options, true);
  const Hdf5Handle group(H5Gcreate2(impl_->file, name.c_str(), H5P_DEFAULT, options, H5P_DEFAULT),
                         H5Gclose);
  if (group >= 0 && write_attributes_to(group, attributes)) return Done{};
  return impl_->trouble(TroubleKind::kInfra,
                        fmt::format("{} cannot be written (is the disk full?)", name));
}

Outcome Hdf5File::write(const std::string& name, Number type,
                        const std::vector<std::uint64_t>& shape, const void* data,
                        const Attributes& attributes) {
  const NumberRow row = row_of(type);
  const std::vector<hsize_t> extent(shape.begin(), shape.end());
  const Hdf5Handle space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                         H5Sclose);
  const Hdf5Handle options(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  H5Pset_obj_track_times(options, false);
  keep_in_header(options, false);
  const bool is_empty = std::find(extent.begin(), extent.end(), 0) != extent.end();
  if (!is_empty) {
    const std::vector<hsize_t> chunk = chunk_of(extent, bytes_of(type));
    H5Pset_chunk(options, static_cast<int>(chunk.size()), chunk.data());
    H5Pset_shuffle(options);
    H5Pset_deflate(options, impl_->deflate);
    H5Pset_fletcher32(options);
  }
  const Hdf5Handle set(
      H5Dcreate2(impl_->file, name.c_str(), row.stored, space, links, options, H5P_DEFAULT),
      H5Dclose);
  const bool written =
      set >= 0 && write_attributes_to(set, attributes) &&
      (is_empty || H5Dwrite(set, row.stored, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  if (!written)
    return impl_->trouble(TroubleKind::kInfra,
                          fmt::format("{} cannot be written (is the disk full?)", name));
  return Done{};
}

Outcome Hdf5File::write_attributes(const Attributes& attributes) {
  if (write_attributes_to(impl_->file, attributes)) return Done{};
  return impl_->trouble(TroubleKind::kInfra, "attributes cannot be written (is the disk full?)");
}

// Closing is what writes the last bytes: no space left is seen here.
Outcome Hdf5File::close(const std::function<Outcome(const std::string&)>& check) {
  const bool closed = H5Fclose(impl_->file) >= 0;
  impl_->file = -1;
  const Outcome checked = closed && check ? check(impl_->written_as) : Outcome{Done{}};
  if (closed && checked.ok()) return put_in_place(impl_->written_as, impl_->path);
  std::remove(impl_->written_as.c_str());
  if (!checked.ok()) return checked;
  return impl_->trouble(TroubleKind::kInfra, "it cannot be written whole (is the disk full?)");
}

bool Hdf5File::has(const std::string& name) const {
  for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
    if (H5Lexists(impl_->file, name.substr(0, at).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(impl_->file, name.c_str(), H5P_DEFAULT) > 0;
}

Result<StoredTensor> Hdf5File::outline(const std::string& name) const {
  const auto refused = [&](std::string_view why) {
    return impl_->trouble(TroubleKind::kUsage, fmt::format("{}: {}", name, why));
  };
  if (!has(name)) return refused("there is no such dataset");
  const Hdf5Handle set(H5Dopen2(impl_->file, name.c_str(), H5P_DEFAULT), H5Dclose);
  if (set < 0) return refused("it is no dataset");
  StoredTensor tensor;
  if (!type_of(set, tensor.type))
    return refused("its numbers are neither integers of 8, 16 or 32 bits nor float32 or float64");
  const Hdf5Handle space(H5Dget_space(set), H5Sclose);
  std::vector<hsize_t> extent(
      static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space), 0)));
  H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  tensor.shape.assign(extent.begin(), extent.end());
  return tensor;
}

Result<StoredTensor> Hdf5File::read(const std::string& name, std::uint64_t most_elements) const {
  auto tensor = outline(name);
  if (!tensor.ok()) return tensor;
  const auto refused = [&](std::string_view why) {
    return impl_->trouble(TroubleKind::kUsage, fmt::format("{}: {}", name, why));
  };
  std::uint64_t elements = 1;
  for (const std::uint64_t n : tensor->shape) {
    if (n != 0 && elements > most_elements / n) {
      return refused(fmt::format("its shape is [{}]: more than the {} elements that it is to have",
                                 fmt::join(tensor->shape, ", "), most_elements));
    }
    elements *= n;
  }
  tensor->bytes.resize(elements * bytes_of(tensor->type));
  const Hdf5Handle set(H5Dopen2(impl_->file, name.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle stored(H5Dget_type(set), H5Tclose);
  const Hdf5Handle wanted(as_stored(stored, tensor->type), H5Tclose);
  if (elements > 0 && H5Dread(set, wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor->bytes.data()) < 0)
    return refused("it cannot be read: its bytes do not match their sum, or the file is cut off");
  return tensor;
}

Result<std::string> Hdf5File::text_attribute(const std::string& name) const {
  const auto refused = [&](std::string_view why) {
    return impl_->trouble(TroubleKind::kUsage, fmt::format("attribute {}: {}", name, why));
  };
  if (H5Aexists(impl_->file, name.c_str()) <= 0) return refused("there is none of that name");
  const Hdf5Handle attribute(H5Aopen(impl_->file, name.c_str(), H5P_DEFAULT), H5Aclose);
  std::string text;
  if (const std::string why = read_text(attribute, text); !why.empty()) return refused(why);
  return text;
}

Result<Attributes> Hdf5File::attributes(const std::string& name) const {
  const auto refused = [&](std::string_view why) {
    return impl_->trouble(TroubleKind::kUsage, fmt::format("attributes of {}: {}", name, why));
  };
  const Hdf5Handle owner(H5Oopen(impl_->file, name.c_str(), H5P_DEFAULT), H5Oclose);
  if (owner < 0) return refused("they cannot be read");
  Attributes all;
  const auto take = [](hid_t from, const char* of, const H5A_info_t*, void* to) -> herr_t {
    const Hdf5Handle attribute(H5Aopen(from, of, H5P_DEFAULT), H5Aclose);
    return attribute >= 0 && read_one(attribute, (*static_cast<Attributes*>(to))[of]) ? 0 : -1;
  };
  if (H5Aiterate2(owner, H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &all) < 0)
    return refused("they cannot be read, or are neither single texts nor single numbers");
  return all;
}

Result<std::vector<std::string>> Hdf5File::names(const std::string& group) const {
  std::vector<std::string> all;
  const Hdf5Handle owner(H5Gopen2(impl_->file, group.c_str(), H5P_DEFAULT), H5Gclose);
  const auto take = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->push_back(name);
    return 0;
  };
  if (owner < 0 || H5Literate(owner, H5_INDEX_NAME, H5_ITER_INC, nullptr, take, &all) < 0)
    return impl_->trouble(TroubleKind::kUsage, fmt::format("group {} cannot be read", group));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace attest
