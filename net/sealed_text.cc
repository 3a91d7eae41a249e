#include "net/sealed_text.h"

#include <array>
#include <memory>

#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "net/internal/openssl.h"
#include "net/internal/tls.h"

namespace berth::net {
namespace {

constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kKeyBytes = 32;
constexpr std::string_view kPurpose = "berth sealed text 1";

using SealKey = std::array<unsigned char, kKeyBytes>;

struct FreeSealing {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  void operator()(EVP_KDF* kdf) const { EVP_KDF_free(kdf); }
  void operator()(EVP_KDF_CTX* context) const { EVP_KDF_CTX_free(context); }
};
using CipherPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeSealing>;

const unsigned char* In(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Out(std::string& text, std::size_t at) {
  return reinterpret_cast<unsigned char*>(text.data() + at);
}
int Size(std::string_view text) { return static_cast<int>(text.size()); }

std::optional<SealKey> DeriveKey(std::string_view secret) {
  const std::unique_ptr<EVP_KDF, FreeSealing> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const std::unique_ptr<EVP_KDF_CTX, FreeSealing> context(EVP_KDF_CTX_new(kdf.get()));
  if (!kdf || !context) return std::nullopt;
  // OpenSSL reads the parameters only; their type has no const.
  std::string digest = "SHA256";
  std::string key(secret);
  std::string info(kPurpose);
  const std::array<OSSL_PARAM, 4> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  SealKey derived{};
  if (EVP_KDF_derive(context.get(), derived.data(), derived.size(), parameters.data()) != 1) {
    return std::nullopt;
  }
  return derived;
}

}  // namespace

Result<std::string> SealText(std::string_view secret, std::string_view context,
                             std::string_view text, std::string_view nonce) {
  if (nonce.size() != kNonceBytes) {
    return Error{ErrorCode::kInvalid, "a nonce has " + std::to_string(kNonceBytes) + " bytes"};
  }
  const std::optional<SealKey> key = DeriveKey(secret);
  const CipherPtr cipher(EVP_CIPHER_CTX_new());
  std::string sealed(kNonceBytes + text.size() + kTagBytes, '\0');
  sealed.replace(0, kNonceBytes, nonce);
  int size = 0;
  const bool is_sealed =
      key && cipher &&
      EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key->data(), In(nonce)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), nullptr, &size, In(context), Size(context)) == 1 &&
      EVP_EncryptUpdate(cipher.get(), Out(sealed, kNonceBytes), &size, In(text), Size(text)) == 1 &&
      EVP_EncryptFinal_ex(cipher.get(), Out(sealed, kNonceBytes + text.size()), &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes,
                          Out(sealed, kNonceBytes + text.size())) == 1;
  if (!is_sealed) return Error{ErrorCode::kInternal, "sealing a text: " + TakeTlsError()};
  return sealed;
}

std::optional<std::string> UnsealText(std::string_view secret, std::string_view context,
                                      std::string_view sealed) {
  if (sealed.size() < kNonceBytes + kTagBytes) return std::nullopt;
  const std::string_view hidden =
      sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  const std::optional<SealKey> key = DeriveKey(secret);
  const CipherPtr cipher(EVP_CIPHER_CTX_new());
  std::string text(hidden.size() + 1, '\0');  // never empty: OpenSSL takes no null
  int size = 0;
  const bool is_ours =
      key && cipher &&
      EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key->data(), In(sealed)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), nullptr, &size, In(context), Size(context)) == 1 &&
      EVP_DecryptUpdate(cipher.get(), Out(text, 0), &size, In(hidden), Size(hidden)) == 1 &&
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(cipher.get(), Out(text, hidden.size()), &size) == 1;
  if (!is_ours) return std::nullopt;
  text.resize(hidden.size());
  return text;
}

}  // namespace berth::net
