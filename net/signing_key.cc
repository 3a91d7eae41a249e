#include "net/signing_key.h"

#include <array>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "base/strings.h"
#include "net/internal/openssl.h"
#include "net/internal/tls.h"

namespace berth::net {
namespace {

constexpr int kHalf = 32;  // bytes of r, and of s

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
struct FreeSignature {
  void operator()(ECDSA_SIG* signature) const { ECDSA_SIG_free(signature); }
};
using ContextPtr = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using SignaturePtr = std::unique_ptr<ECDSA_SIG, FreeSignature>;

Error SigningFailed(std::string_view what) {
  return {ErrorCode::kInternal, std::string(what) + ": " + TakeTlsError()};
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// The DER form of r and s, which OpenSSL takes.
std::string ToDer(std::string_view signature) {
  const SignaturePtr parts(ECDSA_SIG_new());
  BIGNUM* r = BN_bin2bn(Bytes(signature), kHalf, nullptr);
  BIGNUM* s = BN_bin2bn(Bytes(signature) + kHalf, kHalf, nullptr);
  if (!parts || r == nullptr || s == nullptr || ECDSA_SIG_set0(parts.get(), r, s) != 1) {
    BN_free(r);
    BN_free(s);
    return {};
  }
  const int size = i2d_ECDSA_SIG(parts.get(), nullptr);
  if (size <= 0) return {};
  std::string der(static_cast<std::size_t>(size), '\0');
  unsigned char* out = Bytes(der);
  i2d_ECDSA_SIG(parts.get(), &out);
  return der;
}

std::string FromDer(std::string_view der) {
  const unsigned char* in = Bytes(der);
  const SignaturePtr parts(d2i_ECDSA_SIG(nullptr, &in, static_cast<long>(der.size())));
  if (!parts) return {};
  std::string signature(2 * static_cast<std::size_t>(kHalf), '\0');
  unsigned char* out = Bytes(signature);
  if (BN_bn2binpad(ECDSA_SIG_get0_r(parts.get()), out, kHalf) != kHalf ||
      BN_bn2binpad(ECDSA_SIG_get0_s(parts.get()), out + kHalf, kHalf) != kHalf) {
    return {};
  }
  return signature;
}

Result<std::string> PemOf(const EVP_PKEY* key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio ||
      PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return SigningFailed("writing a key");
  }
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> IdOf(const EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return SigningFailed("writing a public key");
  std::array<unsigned char, 32> digest{};
  unsigned length = 0;
  const int hashed = EVP_Digest(der, static_cast<std::size_t>(size), digest.data(), &length,
                                EVP_sha256(), nullptr);
  OPENSSL_free(der);
  if (hashed != 1) return SigningFailed("hashing a public key");
  return Base64UrlEncode(std::string(digest.begin(), digest.end()));
}

}  // namespace

struct SigningKey::Key {
  KeyPtr key;
};

Result<SigningKey> SigningKey::Of(std::shared_ptr<const Key> key) {
  SigningKey made;
  BERTH_TRY(made.pem_, PemOf(key->key.get()));
  BERTH_TRY(made.id_, IdOf(key->key.get()));
  made.key_ = std::move(key);
  return made;
}

Result<SigningKey::Point> SigningKey::PublicPoint() const {
  Point point;
  const std::pair<const char*, std::string*> parts[] = {{"qx", &point.x}, {"qy", &point.y}};
  for (const auto& [name, text] : parts) {
    BIGNUM* number = nullptr;
    if (EVP_PKEY_get_bn_param(key_->key.get(), name, &number) != 1) {
      return SigningFailed("reading a public key");
    }
    text->resize(kHalf);
    const int written = BN_bn2binpad(number, Bytes(*text), kHalf);
    BN_free(number);
    if (written != kHalf) return SigningFailed("writing a public key");
  }
  return point;
}

Result<SigningKey> SigningKey::Make() {
  auto key = std::make_shared<Key>();
  key->key.reset(EVP_EC_gen("P-256"));
  if (!key->key) return SigningFailed("making a P-256 key");
  return Of(std::move(key));
}

Result<SigningKey> SigningKey::FromPem(std::string_view private_key_pem) {
  auto key = std::make_shared<Key>();
  BERTH_TRY(key->key, ReadPrivateKey(private_key_pem));
  std::array<char, 64> curve{};
  std::size_t size = 0;
  if (EVP_PKEY_get_group_name(key->key.get(), curve.data(), curve.size(), &size) != 1 ||
      std::string_view(curve.data(), size) != "prime256v1") {
    TakeTlsError();
    return Error{ErrorCode::kInvalid, "the key is not an ECDSA key of the curve P-256"};
  }
  return Of(std::move(key));
}

Result<std::string> SigningKey::Sign(std::string_view text) const {
  const ContextPtr context(EVP_MD_CTX_new());
  if (!context ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_->key.get()) != 1) {
    return SigningFailed("signing");
  }
  std::size_t size = 0;
  if (EVP_DigestSign(context.get(), nullptr, &size, Bytes(text), text.size()) != 1) {
    return SigningFailed("signing");
  }
  std::string der(size, '\0');
  if (EVP_DigestSign(context.get(), Bytes(der), &size, Bytes(text), text.size()) != 1) {
    return SigningFailed("signing");
  }
  der.resize(size);
  std::string signature = FromDer(der);
  if (signature.empty()) return SigningFailed("signing");
  return signature;
}

bool SigningKey::Verify(std::string_view text, std::string_view signature) const {
  if (signature.size() != 2 * static_cast<std::size_t>(kHalf)) return false;
  const std::string der = ToDer(signature);
  const ContextPtr context(EVP_MD_CTX_new());
  const bool valid =
      !der.empty() && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_->key.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(der), der.size(), Bytes(text), text.size()) == 1;
  if (!valid) ERR_clear_error();
  return valid;
}

}  // namespace berth::net
