// cel/internal/runes.h — characters of UTF-8 text. A byte that is part of no character counts as
// one.
#pragma once

#include <cstddef>
#include <string_view>

namespace berth::cel {

// The size in bytes of the character at the start of `text`, which is not empty.
std::size_t RuneSize(std::string_view text);
std::size_t CountRunes(std::string_view text);
// The byte at which character `index` begins; text.size() behind the last one; npos further on.
std::size_t OffsetOfRune(std::string_view text, std::size_t index);

}  // namespace berth::cel
