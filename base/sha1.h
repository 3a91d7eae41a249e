// base/sha1.h — SHA-1, for object names that must equal Kueue's; not for secrets.
//
// Threads: pure function. Source: FIPS 180-4 §6.1.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// The digest of `bytes` as 40 lower-case hex digits.
std::string Sha1Hex(std::string_view bytes);

}  // namespace berth
