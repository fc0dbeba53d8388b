// export and judge: a case for a kernel that runs elsewhere, and the verdict on what it brought
// back.
#include <fmt/format.h>

#include "harness/commands.hpp"
#include "harness/exchange.hpp"
#include "harness/machine.hpp"
#include "harness/shell_word.hpp"
#include "reports/reporter.hpp"

namespace attest {

int command_export(const CommonOptions& common, const std::string& token, const std::string& path) {
  const auto c = known_case(token);
  if (!c.ok()) return report_trouble(c.trouble());
  const Outcome written = export_case(*c, path, common.threads);
  if (!written.ok()) return report_trouble(written.trouble());
  fmt::print(
      "{}: inputs of {}\n"
      "add outputs/o [{}, {}, {}] (bf16 bits in 16-bit integers) and outputs/lse [{}, {}] "
      "(float32, "
      "natural logarithm), then: ./attest judge {}\n",
      path, to_token(*c), c->problem.total_q(), c->problem.h_q, kDV, c->problem.total_q(),
      c->problem.h_q, shell_word(path));
  return 0;
}

int command_judge(const CommonOptions& common, const JudgeRequest& request) {
  ForeignKernel kernel{.name = request.name,
                       .p = request.p,
                       .internal_splits = request.splits,
                       .tile = request.tile};
  const auto unit = matrix_unit_named(request.unit);
  if (!unit.ok()) return report_trouble(unit.trouble());
  kernel.unit = *unit;
  const auto judged = judge_file(request.inputs, request.outputs, kernel, common.threads);
  if (!judged.ok()) return report_trouble(judged.trouble());
  const auto reporter = common.json ? make_jsonl_reporter(stdout) : make_console_reporter(stdout);
  Tally tally;
  tally.add(judged->verdict.status);
  std::string again = "./attest judge " + shell_word(request.inputs);
  if (!request.outputs.empty()) again += " " + shell_word(request.outputs);
  again += fmt::format(" --unit {} --p {} --splits {} --tile {} --name {}", request.unit, request.p,
                       request.splits, request.tile, shell_word(request.name));
  reporter->run_begin({"judge", request.name, machine_text(), 1, {}, again});
  reporter->case_end({to_token(judged->c), judged->verdict, 0});
  reporter->run_end(tally, 0);
  return exit_code(tally);
}

}  // namespace attest
