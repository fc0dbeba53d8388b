// Where the values of a drawn case come from: RapidCheck generators, each run on a random state of
// its own, so that one more value drawn for one axis leaves the others as they were.
#pragma once
#include <rapidcheck.h>

#include <cstdint>

namespace attest {

class Draw {
 public:
  explicit Draw(const rc::Random& random) : random_(random) {}
  template <class T>
  T operator()(const rc::Gen<T>& gen) {
    return gen(random_.split(), rc::kNominalSize).value();
  }
  bool one_in(int count) { return (*this)(rc::gen::inRange(0, count)) == 0; }
  // For the axes of one kind.
  Draw branch() { return Draw(random_.split()); }

 private:
  rc::Random random_;
};

}  // namespace attest
