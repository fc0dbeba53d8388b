#include "harness/standalone/failure.hpp"

#include <iterator>
#include <utility>

#include "harness/standalone/property_faults.hpp"

namespace attest {
namespace {

void append(std::vector<FaultyElement> from, std::vector<FaultyElement>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Failure record_failure(const Kernel& kernel, Device& device, const Case& c, VerifyOptions options) {
  RecordingDevice recording(device);
  Failure failure;
  options.at_judgement = [&](const Judgement& judgement) {
    auto elements = faulty_elements(judgement, recording.record());
    if (!elements.empty()) failure.elements = std::move(elements);
  };
  failure.verdict = verify(kernel, recording, c, options);
  failure.token = to_token(c);
  failure.device = device.name();
  failure.record = recording.record();
  if (failure.verdict.status != Status::kFailed) return failure;
  if (c.property != kOracle) {
    auto elements = property_elements(c, failure.verdict, failure.record);
    if (elements.ok()) {
      append(std::move(*elements), failure.elements);
    } else {
      failure.why_no_elements = elements.trouble().text;
    }
  }
  append(changed_elements(c.problem, failure.record), failure.elements);
  return failure;
}

}  // namespace attest
