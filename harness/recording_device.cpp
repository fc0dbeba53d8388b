#include "harness/recording_device.hpp"

#include <algorithm>
#include <cstring>

#include "harness/core/check.hpp"

namespace attest {

std::vector<std::byte> Record::written(int buffer, std::size_t offset, std::size_t bytes,
                                       std::size_t before) const {
  ATTEST_CHECK(before <= events.size());
  const std::uint16_t fill = buffers[buffer].fill;
  std::vector<std::byte> held(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    held[i] = static_cast<std::byte>((offset + i) % 2 ? fill >> 8 : fill & 0xff);
  }
  for (std::size_t e = 0; e < before; ++e) {
    const auto* const write = std::get_if<RecordedWrite>(&events[e]);
    if (write == nullptr || write->buffer != buffer) continue;
    const std::size_t begin = std::max(offset, write->offset);
    const std::size_t end = std::min(offset + bytes, write->offset + write->bytes.size());
    if (begin >= end) continue;
    std::memcpy(held.data() + (begin - offset), write->bytes.data() + (begin - write->offset),
                end - begin);
  }
  return held;
}

std::optional<std::size_t> Record::judged_read(std::string_view label, std::size_t begin,
                                               std::size_t end) const {
  std::optional<std::size_t> found;
  for (std::size_t e = begin; e < end; ++e) {
    if (std::holds_alternative<RecordedSynchronize>(events[e])) found.reset();
    const auto* const read = std::get_if<RecordedRead>(&events[e]);
    if (read != nullptr && !found && buffers[read->buffer].label == label) found = e;
  }
  return found;
}

Result<Module> RecordingDevice::load_module(const std::string& path) {
  auto module = inner_.load_module(path);
  if (module.ok()) module_paths_[module->id] = path;
  return module;
}

Result<Function> RecordingDevice::function(Module module, const std::string& symbol) {
  auto function = inner_.function(module, symbol);
  if (function.ok() && !functions_.contains(function->id)) {
    functions_[function->id] = static_cast<int>(record_.functions.size());
    record_.functions.push_back({module_paths_[module.id], symbol});
  }
  return function;
}

Result<Buffer> RecordingDevice::allocate(const std::string& label, std::size_t bytes,
                                         std::uint16_t fill) {
  auto buffer = inner_.allocate(label, bytes, fill);
  if (!buffer.ok()) return buffer;
  const int id = static_cast<int>(record_.buffers.size());
  record_.buffers.push_back({label, bytes, fill});
  record_.events.emplace_back(RecordedAllocate{id});
  live_[buffer->address] = {id, bytes};
  return buffer;
}

void RecordingDevice::release(const Buffer& buffer) {
  inner_.release(buffer);
  const auto held = live_.find(buffer.address);
  if (held == live_.end()) return;
  record_.events.emplace_back(RecordedRelease{held->second.buffer});
  live_.erase(held);
}

void RecordingDevice::release_all() {
  inner_.release_all();
  for (const auto& [address, live] : live_)
    record_.events.emplace_back(RecordedRelease{live.buffer});
  live_.clear();
}

Outcome RecordingDevice::write(const Buffer& buffer, std::size_t offset,
                               std::span<const std::byte> from) {
  const int id = live_.at(buffer.address).buffer;
  std::vector<std::byte> held(from.size());
  if (from.empty() || !inner_.read(buffer, offset, held).ok())
    return inner_.write(buffer, offset, from);
  Outcome outcome = inner_.write(buffer, offset, from);
  if (!outcome.ok()) return outcome;
  // Inputs that are written again with a few bytes changed: only those are kept. Where a kernel
  // wrote in between, all of them count.
  const std::vector<std::byte> left =
      record_.written(id, offset, from.size(), record_.events.size());
  if (held != left) {
    record_write(id, offset, from);
    return outcome;
  }
  constexpr std::size_t kGap = 256;  // bytes that do not change between two writes
  for (std::size_t at = 0; at < from.size();) {
    if (from[at] == left[at]) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    for (std::size_t i = end; i < from.size() && i < end + kGap; ++i) {
      if (from[i] != left[i]) end = i + 1;
    }
    const std::size_t even = at / 4 * 4, even_end = std::min((end + 3) / 4 * 4, from.size());
    record_write(id, offset + even, from.subspan(even, even_end - even));
    at = even_end;
  }
  return outcome;
}

void RecordingDevice::record_write(int buffer, std::size_t offset,
                                   std::span<const std::byte> from) {
  record_.events.emplace_back(RecordedWrite{buffer, offset, {from.begin(), from.end()}});
}

Outcome RecordingDevice::read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) {
  Outcome outcome = inner_.read(buffer, offset, to);
  if (!outcome.ok() || to.empty()) return outcome;
  const int id = live_.at(buffer.address).buffer;
  RecordedRead read{id, offset, to.size(), {}};
  const std::vector<std::byte> left = record_.written(id, offset, to.size(), record_.events.size());
  if (!std::equal(to.begin(), to.end(), left.begin())) read.bytes.assign(to.begin(), to.end());
  record_.events.emplace_back(std::move(read));
  return outcome;
}

std::string RecordingDevice::guard_damage(const Buffer& buffer) {
  std::string text = inner_.guard_damage(buffer);
  const auto held = live_.find(buffer.address);
  if (!text.empty() && held != live_.end())
    record_.events.emplace_back(RecordedGuardDamage{held->second.buffer, text});
  return text;
}

std::vector<RecordedPointer> RecordingDevice::pointers_in(
    std::span<const std::byte> arguments) const {
  std::vector<RecordedPointer> pointers;
  for (std::size_t at = 0; at + 8 <= arguments.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, arguments.data() + at, sizeof word);
    auto held = live_.upper_bound(word);
    if (held == live_.begin()) continue;
    --held;
    const std::size_t offset = word - held->first;
    if (offset <= held->second.bytes) pointers.push_back({at, held->second.buffer, offset});
  }
  return pointers;
}

Outcome RecordingDevice::launch(Function function, const LaunchConfig& config,
                                const KernelArguments& arguments) {
  const auto bytes = arguments.bytes();
  const auto offsets = arguments.offsets();
  const auto known = functions_.find(function.id);
  Outcome outcome = inner_.launch(function, config, arguments);
  if (!outcome.ok() || known == functions_.end()) return outcome;
  record_.events.emplace_back(RecordedLaunch{known->second,
                                             config,
                                             {bytes.begin(), bytes.end()},
                                             {offsets.begin(), offsets.end()},
                                             pointers_in(bytes)});
  return outcome;
}

Outcome RecordingDevice::synchronize() {
  Outcome outcome = inner_.synchronize();
  record_.events.emplace_back(RecordedSynchronize{!outcome.ok()});
  return outcome;
}

Outcome RecordingDevice::begin_capture() {
  Outcome outcome = inner_.begin_capture();
  if (outcome.ok()) record_.events.emplace_back(RecordedBeginCapture{});
  return outcome;
}

Result<Graph> RecordingDevice::end_capture() {
  auto graph = inner_.end_capture();
  if (graph.ok()) record_.events.emplace_back(RecordedEndCapture{graph->id});
  return graph;
}

Outcome RecordingDevice::replay(Graph graph) {
  Outcome outcome = inner_.replay(graph);
  if (outcome.ok()) record_.events.emplace_back(RecordedReplay{graph.id});
  return outcome;
}

void RecordingDevice::set_schedule(Schedule schedule) {
  inner_.set_schedule(schedule);
  record_.events.emplace_back(RecordedSchedule{schedule});
}

}  // namespace attest
