// view/gzip_text.h — reads text that gzip has packed.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::view {

// Whether the bytes begin as those of gzip do.
bool IsGzip(std::string_view bytes);

// The text of all members. kInvalid: the bytes are damaged, or the text has more than `most` bytes.
Result<std::string> Gunzip(std::string_view bytes, std::size_t most);

}  // namespace berth::view
