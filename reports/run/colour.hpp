// Colour of the word that says how a case ended. Nothing is said by colour alone.
#pragma once
#include <cstdio>
#include <string>

#include "harness/core/verdict.hpp"

namespace attest {

enum class Colour {
  kAuto,  // on a terminal (status_line.hpp), unless NO_COLOR says something
  kAlways,
  kNever
};
bool has_colour(Colour colour, std::FILE* to);  // Source: https://no-color.org

std::string status_word(Status status, bool coloured);  // padded to the longest

}  // namespace attest
