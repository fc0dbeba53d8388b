#include "harness/execute.hpp"

#include "harness/session.hpp"

namespace attest {

Result<Output> execute(const Kernel& kernel, Device& device, const std::string& code_objects,
                       const Case& c, const Inputs& inputs, std::uint16_t poison) {
  Session session(kernel, device, poison);
  session.open(code_objects, {&inputs}, output_sizes(kernel, c.problem));
  session.write(inputs);
  device.set_schedule(c.schedule);
  session.launch(c.problem);
  return session.collect(c.problem, inputs);
}

}  // namespace attest
