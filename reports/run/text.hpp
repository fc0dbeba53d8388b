// Texts of a run that go into a report: a reason may be long, and may quote the bytes of a hostile
// file. They are UTF-8, as the JSON was that they came in.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace attest {

// At most so many bytes of whole characters; "…" ends what is cut.
std::string cut(std::string_view text, std::size_t most_bytes);

// How many bytes the character has that begins there.
std::size_t character_bytes(std::string_view text);

// With U+FFFD for what a reader would not see, a terminal would obey, or XML 1.0 cannot hold,
// however it is written: control characters but for newline and tab, those that turn the direction
// of reading, U+FFFE and U+FFFF. Source: XML 1.0, production 2 (Char); Unicode 15, 23.2.
std::string visible(std::string_view text);

}  // namespace attest
