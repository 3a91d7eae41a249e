// base/sha256.h — SHA-256 (FIPS 180-4), for names that Kubernetes and Kueue derive from contents.
#pragma once

#include <string>
#include <string_view>

namespace berth {

// The hash of `bytes`: 32 bytes.
std::string Sha256(std::string_view bytes);
// The hash as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace berth
