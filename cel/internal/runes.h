// cel/internal/runes.h — characters of UTF-8 text, and search in it. A byte that is part of no
// character counts as one.
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::cel {

// The size in bytes of the character at the start of `text`, which is not empty.
std::size_t RuneSize(std::string_view text);
std::size_t CountRunes(std::string_view text);
// The byte at which character `index` begins; text.size() behind the last one; npos further on.
std::size_t OffsetOfRune(std::string_view text, std::size_t index);

// Finds what text.find(wanted, from) finds, in time linear in both: std::string_view::find takes
// their product for texts that nearly match everywhere.
std::size_t FindText(std::string_view text, std::string_view wanted, std::size_t from = 0);

}  // namespace berth::cel
