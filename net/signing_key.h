// net/signing_key.h — a key that signs texts (ECDSA P-256 with SHA-256: ES256 of RFC 7518), and
// checks signatures.
//
// Threads: immutable; any thread. Errors: kInvalid for a PEM that cannot be parsed or is of another
// kind, kInternal for a failure of OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::net {

class SigningKey {
 public:
  static Result<SigningKey> Make();
  static Result<SigningKey> FromPem(std::string_view private_key_pem);

  const std::string& pem() const { return pem_; }  // the private key
  // Identifies the key: base64url of the SHA-256 of the public key.
  const std::string& id() const { return id_; }

  // The point of the public key: 32 bytes x, 32 bytes y.
  struct Point {
    std::string x;
    std::string y;
  };
  Result<Point> PublicPoint() const;

  // 64 bytes: r and s.
  Result<std::string> Sign(std::string_view text) const;
  bool Verify(std::string_view text, std::string_view signature) const;

 private:
  struct Key;
  static Result<SigningKey> Of(std::shared_ptr<const Key> key);

  std::shared_ptr<const Key> key_;
  std::string pem_;
  std::string id_;
};

}  // namespace berth::net
