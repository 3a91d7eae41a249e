// net/sealed_text.h — texts that nobody reads or changes without a secret: AES-256-GCM with a key
// that HKDF-SHA256 (RFC 5869) derives from the secret.
//
//     sealed: nonce (kNonceBytes) | ciphertext | tag (16 bytes)
//
// Threads: pure functions. Errors: kInvalid for a nonce of another size, kInternal for a failure of
// OpenSSL.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::net {

inline constexpr std::size_t kNonceBytes = 12;

// `secret`: at least 32 bytes of a source for secrets, in any form. `context`: UnsealText must get
// the same one; it is not in the result. `nonce`: random, and different for each text that is
// sealed with the secret.
Result<std::string> SealText(std::string_view secret, std::string_view context,
                             std::string_view text, std::string_view nonce);

// nullopt: `sealed` was made with another secret or context, or has been changed.
std::optional<std::string> UnsealText(std::string_view secret, std::string_view context,
                                      std::string_view sealed);

}  // namespace berth::net
