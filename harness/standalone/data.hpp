// ProgramData: bytes as the text of a program: arrays, runs of one value, or datasets of a file
// beside it when they are many.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/recording_device.hpp"

namespace attest {

// A name in the program and in its file for a buffer's label.
std::string identifier(std::string_view label);

struct Dataset {
  std::string name;
  std::span<const std::byte> bytes;
};

class ProgramData {
 public:
  // With more bytes than these in all, large ones go to the file: some 2 MB of text.
  static constexpr std::size_t kLiteralBytes = std::size_t{512} << 10;

  // `record` outlives it.
  explicit ProgramData(const Record& record);

  // Statements that write it to the buffer which the program calls `variable`.
  std::string upload(const RecordedWrite& write, const std::string& variable);

  // The arrays that the statements use: they stand before main(), and at the end.
  const std::string& declarations() const { return declarations_; }
  const std::string& arrays() const { return arrays_; }
  const std::vector<Dataset>& datasets() const { return datasets_; }

 private:
  std::string piece(const std::string& label, std::span<const std::byte> bytes);
  template <class T>
  std::string array(const std::string& label, std::string_view type, std::string_view format,
                    std::span<const std::byte> bytes);
  std::string new_name(const std::string& label);

  const Record& record_;
  bool uses_file_ = false;
  std::string declarations_, arrays_;
  std::vector<Dataset> datasets_;
  std::map<std::string, int> names_;
  std::map<std::pair<bool, std::string_view>, std::string> known_;  // integers?, the record's bytes
};

}  // namespace attest
