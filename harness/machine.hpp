// The host, for reports: numbers mean little without the machine they come from.
#pragma once
#include <cstdint>
#include <string>

namespace attest {

int host_threads();
std::string cpu_model();      // "AMD EPYC 7B13", or the architecture's name
std::string machine_text();   // model and threads
std::int64_t memory_bytes();  // of the machine
// Without swapping, and within what the process's control groups (containers, Slurm, systemd) may
// take; -1 when unknown. `root`: of /proc and /sys, for tests.
std::int64_t available_memory_bytes(const std::string& root = "");
std::string find_program(const std::string& name);  // path in PATH; empty when it is not there

}  // namespace attest
