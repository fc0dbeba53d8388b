// The commands of `attest stress`.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "harness/commands.hpp"

namespace CLI {
class App;
}

namespace attest {

struct StressRequest {
  std::vector<std::string> tokens;  // none: those of stress_tokens()
  int count = 0;                    // replays or launches; 0: as many as fit the device
};

struct StressVerb {
  const char *name, *about;
  void (*add_options)(CLI::App&, StressRequest&);
  int (*run)(const CommonOptions&, const StressRequest&);
};
std::span<const StressVerb> stress_verbs();

// Both head tiles, ragged and empty sequences, several query tokens, one split and many, every page
// size, every kernel: large enough to fill a GPU, or small enough for an emulator.
std::vector<std::string> stress_tokens(bool is_emulated);

}  // namespace attest
