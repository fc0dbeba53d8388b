// shell_word: a word of a command that attest prints, as a shell takes it.
#pragma once
#include <string>

namespace attest {

std::string shell_word(const std::string& word);  // quoted where it must be

}  // namespace attest
