#include "harness/standalone/data_file.hpp"

#include <fmt/format.h>
#include <hdf5.h>

#include "golden/hdf5_handle.hpp"

namespace attest {
namespace {

bool write_dataset(hid_t file, const Dataset& dataset) {
  const bool halves = dataset.bytes.size() % 2 == 0;
  const hid_t stored = halves ? H5T_STD_U16LE : H5T_STD_U8LE;
  const hsize_t size = dataset.bytes.size() / (halves ? 2 : 1);
  const Hdf5Handle space(H5Screate_simple(1, &size, nullptr), H5Sclose);
  const Hdf5Handle options(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  if (space < 0 || options < 0 || H5Pset_obj_track_times(options, false) < 0) return false;
  const Hdf5Handle set(
      H5Dcreate2(file, dataset.name.c_str(), stored, space, H5P_DEFAULT, options, H5P_DEFAULT),
      H5Dclose);
  return set >= 0 &&
         H5Dwrite(set, stored, H5S_ALL, H5S_ALL, H5P_DEFAULT, dataset.bytes.data()) >= 0;
}

}  // namespace

Outcome write_data_file(const std::string& path, const std::vector<Dataset>& datasets) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // the trouble says it
  const auto fail = [&](std::string_view what) {
    return Trouble{TroubleKind::kInfra, fmt::format("{}: HDF5 cannot {}", path, what)};
  };
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  if (file < 0) return fail("create it");
  bool is_written = true;
  for (const Dataset& dataset : datasets) is_written = is_written && write_dataset(file, dataset);
  // Closing is what writes the last bytes: no space left is seen here.
  if (H5Fclose(file) < 0 || !is_written) return fail("write all of it (is the disk full?)");
  return Done{};
}

}  // namespace attest
