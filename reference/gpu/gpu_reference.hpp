// The parts of reference() that take a time of tokens x rows x columns, on a device: scores, what
// of them repeats, and sums of weights times V (sums.hip). What lies between, and all that follows,
// stays on the host. The sums are the host's bit for bit: the same IEEE operations in the same
// order. Only a NaN may have other bits.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/device.hpp"

namespace attest {

struct BlockJob;
struct Inputs;
struct Plan;
struct Problem;
struct TileResiduals;

// Keeps its memory from case to case. One reference() at a time.
class GpuReference {
 public:
  static std::string code_object(std::string_view target);  // file of its build
  // `code_objects`: the folder of attest's own. Trouble kInfra: there is no build for the device.
  static Result<std::unique_ptr<GpuReference>> make(std::unique_ptr<Device> device,
                                                    const std::string& code_objects);
  ~GpuReference();
  std::string name() const;  // of the device

  // Copies the cache. All that it is given must stay until the last accumulate().
  Outcome begin(const Problem& problem, const Inputs& inputs, const Arithmetic& arithmetic,
                const Plan& plan);
  // Of a group of jobs: chunk_largest.
  Outcome score(std::span<BlockJob> jobs);
  // From split_largest and the scheduled tiles: sums, columns, edges. They stay until the next
  // score().
  Outcome accumulate(std::span<BlockJob> jobs);
  // Of the group's jobs, once more for each output: tile_lanes.
  Outcome score_tiles(const TileResiduals& residuals, std::span<BlockJob> jobs);
  double busy_ms() const;  // of the device's work since begin(), without copies

 private:
  class Group;
  explicit GpuReference(std::unique_ptr<Group> group);
  std::unique_ptr<Group> group_;
};

}  // namespace attest
