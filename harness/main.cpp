#include "harness/commands.hpp"

int main(int argc, char** argv) { return attest::run_command_line(argc, argv); }
