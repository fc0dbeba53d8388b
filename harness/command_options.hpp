// What the commands take on their command lines: what all take, and of those that take much;
// add_console: what each that lists cases takes.
#pragma once
#include "harness/commands.hpp"

namespace CLI {
class App;
}

namespace attest {

void add_common(CLI::App& app, CommonOptions& common);  // what every command takes
// Trouble kUsage: --reference device for a command of `app` that forms none there.
Outcome check_reference(const CLI::App& app, const CommonOptions& common);
void add_judge_options(CLI::App& judge, JudgeRequest& request);
void add_soundness_options(CLI::App& sub, SoundnessOptions& options);
void add_detect_options(CLI::App& detect, DetectRequest& request);
void add_fuzz_options(CLI::App& fuzz, FuzzRequest& request);
void add_crosscheck_options(CLI::App& sub, CrosscheckRequest& request);
void add_selftest_options(CLI::App& sub, SelftestRequest& request);
void add_list_options(CLI::App& list, ListRequest& request);
void add_console(CLI::App& command, ConsoleOptions& console);

}  // namespace attest
