// A mutant, built: code objects by the project's own compiler and flags and, where the launcher is
// edited, a shared object of the launcher. What is built is kept under a hash of the sources, the
// compilers' versions and their flags: it is found again on another machine, where the compilers
// may be missing.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "harness/core/kernel.hpp"
#include "harness/mutant.hpp"

namespace attest {

struct BuildOptions {
  std::string target;           // Device::target() of the device that will run it
  std::string code_objects;     // the folder of the unedited kernels' code objects
  std::string source_dir = {};  // empty: the tree that this program was built from
  std::string cache_dir = {};   // empty: mutants/ of this program's build folder
  bool launcher_alone = false;  // the device code is the unedited one's
};

class BuiltMutant {
 public:
  BuiltMutant(std::string code_objects, std::shared_ptr<void> launcher,
              std::string launcher_path = {})
      : code_objects_(std::move(code_objects)),
        launcher_(std::move(launcher)),
        launcher_path_(std::move(launcher_path)) {}

  // The folder of code objects, as VerifyOptions and execute() take it.
  const std::string& code_objects() const { return code_objects_; }
  // The kernel of that name as the edited launcher makes it, or this program's own where no
  // launcher is edited; null when no kernel has the name. Its code lies in this object, which must
  // outlive it.
  std::unique_ptr<Kernel> make_kernel(std::string_view name) const;
  const std::string& launcher_path() const { return launcher_path_; }  // empty: none is edited
  // False where the edit leaves the code of this target as it was: it is in what another target
  // compiles.
  bool is_in_build() const { return is_in_build_; }
  void set_in_build(bool is_in_build) { is_in_build_ = is_in_build; }

 private:
  std::string code_objects_;
  std::shared_ptr<void> launcher_;  // of dlopen; null where no launcher is edited
  std::string launcher_path_;
  bool is_in_build_ = true;
};

// Trouble: kUsage when the mutant does not apply, edits nothing that is built, or does not compile
// (with the compiler's first lines); kInfra when the machine cannot build. Several threads may
// build at once.
Result<BuiltMutant> build_mutant(const Mutant& mutant, const BuildOptions& options);

// One that was built, from its files. Trouble kInfra: the launcher cannot be loaded.
Result<BuiltMutant> open_mutant(const std::string& code_objects, const std::string& launcher);

}  // namespace attest
