// What a captured graph goes through between its replays.
#pragma once
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/device.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/output.hpp"

namespace attest {

// `count` cases that a graph of `c` can be replayed on: of the same batch size, heads, splits and
// query tokens. The first is `c`, its number of splits made explicit; the others have its rows in
// another order, some of them shorter or empty, other pages, other seeds and distributions. None
// has more tokens than `c`. A pure function.
std::vector<Case> replay_steps(const Kernel& kernel, const Case& c, int count);

// Which step replay `round` takes on a stream: each step once, then any.
std::size_t step_of(const Case& c, int stream, int round, std::size_t steps);

// Device memory that comes and goes while a graph lives, as a serving process's temporaries do, and
// is full of hostile bits when it is released: a graph that holds the address of memory that was
// released finds them there. The sizes are those that a launcher would ask for.
class Temporaries {
 public:
  Temporaries(Device& device, Seed seed, std::vector<std::size_t> sizes);
  ~Temporaries();
  Temporaries(const Temporaries&) = delete;
  Temporaries& operator=(const Temporaries&) = delete;

  // Releases all, and takes others.
  Outcome turn();

 private:
  Device& device_;
  Seed seed_;
  std::vector<std::size_t> sizes_;
  std::vector<Buffer> held_;
  int turns_ = 0;
};

}  // namespace attest
