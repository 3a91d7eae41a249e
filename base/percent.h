// base/percent.h — writes percent escapes (RFC 3986, section 2.1).
//
// Threads: pure function. Errors: none.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// `text` with "%XX" in place of each byte that is no ASCII letter, no digit and none of `marks`.
std::string PercentEncode(std::string_view text, std::string_view marks);

}  // namespace berth
