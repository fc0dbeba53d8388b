// An HDF5 file of tensors with attributes, as h5py and h5dump read it. The same content gives the
// same bytes: no times are kept. Tensors are chunked, shuffled, deflated and carry Fletcher-32
// sums, so that a flipped bit is an error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/core/trouble.hpp"

namespace attest {

// bf16 is stored as the uint16 of its bits, with the attribute dtype.
enum class Number { kU8, kU16, kI32, kU32, kF32, kF64 };
std::size_t bytes_of(Number type);

using Attribute = std::variant<std::string, std::int64_t, double>;
using Attributes = std::map<std::string, Attribute>;

struct StoredTensor {
  Number type = Number::kU8;
  std::vector<std::uint64_t> shape;
  std::vector<std::byte> bytes;  // little-endian, row-major
  bool operator==(const StoredTensor&) const = default;
};

enum class Hdf5Style {
  kExchange,  // what HDF5 1.8 and its copies in other programs read; packed for speed
  kArchive,   // HDF5 1.10: names, shapes and attributes have check sums too; packed for size
};

class Hdf5File {
 public:
  // Written under a name of its own (part_file.hpp) until close(). Trouble kInfra: the path and
  // what HDF5 could not do.
  static Result<std::unique_ptr<Hdf5File>> create(const std::string& path,
                                                  Hdf5Style style = Hdf5Style::kExchange);
  // Trouble kUsage: no such file, no HDF5 file, or a truncated one.
  static Result<std::unique_ptr<Hdf5File>> open(const std::string& path);
  ~Hdf5File();
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;

  Outcome write_group(const std::string& name, const Attributes& attributes);
  // `name` may have folders: "inputs/q". `shape` of no elements is allowed.
  Outcome write(const std::string& name, Number type, const std::vector<std::uint64_t>& shape,
                const void* data, const Attributes& attributes);
  Outcome write_attributes(const Attributes& attributes);  // of the file
  // Of a created file. `check`, of its temporary name, is asked before it takes its place.
  Outcome close(const std::function<Outcome(const std::string&)>& check = nullptr);

  bool has(const std::string& name) const;
  Result<StoredTensor> outline(const std::string& name) const;  // type and shape alone: no bytes
  // Integers come as they are stored, of 1, 2 or 4 bytes; floats of 4 or 8. Trouble kUsage: none of
  // that name, another type, or bytes that do not match their sum.
  // `most_elements`: a file that has more is refused before memory is asked for.
  Result<StoredTensor> read(const std::string& name,
                            std::uint64_t most_elements = std::uint64_t{1} << 32) const;
  Result<std::string> text_attribute(const std::string& name) const;  // of the file
  // Of a group or a dataset, "/" for the file: those that are one text or one number.
  Result<Attributes> attributes(const std::string& name) const;
  // Groups and datasets right below a group, "/" for the file, sorted.
  Result<std::vector<std::string>> names(const std::string& group) const;

 private:
  struct Impl;
  explicit Hdf5File(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace attest
