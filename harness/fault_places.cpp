#include "harness/fault_places.hpp"

#include <algorithm>

namespace attest {
namespace {

// So many of `largest + 1` go into one block that there are at most kMostBlocks.
int block_of(std::int64_t largest) {
  return static_cast<int>(largest / FaultPlaces::kMostBlocks + 1);
}

}  // namespace

void FaultPlaces::add(const Place& place) {
  const Key key{place.row, place.split, place.column < 0 ? -1 : place.column / kColumnBlock};
  if (key != last_key_) {
    last_ = &counts_[key];
    last_key_ = key;
  }
  ++*last_;
}

FaultMap FaultPlaces::map(const std::string& tensor) const {
  Key largest{0, -1, -1};
  for (const auto& [key, count] : counts_) {
    for (std::size_t i = 0; i < key.size(); ++i) largest[i] = std::max(largest[i], key[i]);
  }
  const bool has_splits = largest[1] >= 0, has_columns = largest[2] >= 0;
  const int row = has_splits && has_columns ? 1 : 0;  // which of the key is the map's row
  const int column = has_columns ? 2 : 1;
  FaultMap map;
  map.tensor = tensor;
  map.row_axis = row == 1 ? "split" : "row";
  map.column_axis = has_columns ? "column" : "split";
  map.row_block = block_of(largest[row]);
  map.rows = static_cast<int>(largest[row] / map.row_block + 1);
  const int blocks = has_columns ? 1 : block_of(largest[1]);  // those of columns are blocks already
  map.column_block = has_columns ? kColumnBlock : blocks;
  map.columns = has_columns ? kDV / kColumnBlock
                            : static_cast<int>(std::max<std::int64_t>(largest[1], 0) / blocks + 1);
  map.counts.resize(std::size_t{1} * map.rows * map.columns);
  for (const auto& [key, count] : counts_) {
    const std::int64_t x = std::max<std::int64_t>(key[column], 0) / blocks;
    map.counts[key[row] / map.row_block * map.columns + x] += count;
  }
  return map;
}

}  // namespace attest
