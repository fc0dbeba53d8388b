// Commands on runs that are over. They need no device, so each adds its own options alone.
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace attest {

// `command` becomes what runs, if the command line names it; it returns the exit code.
void add_compare(CLI::App& app, std::function<int()>& command);
void add_history(CLI::App& app, std::function<int()>& command);

}  // namespace attest
