// net/internal/openssl.h — owners for OpenSSL's objects, and PEM parsing. For tls.cc,
// certificates.cc and byte_stream.cc only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/result.h"

namespace berth::net {

struct OpenSslFree {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};

using BioPtr = std::unique_ptr<BIO, OpenSslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpenSslFree>;
using X509Ptr = std::unique_ptr<X509, OpenSslFree>;

// All certificates of the PEM, at least one; else kInvalid.
Result<std::vector<X509Ptr>> ReadCertificates(std::string_view pem);
Result<KeyPtr> ReadPrivateKey(std::string_view pem);  // not encrypted; kInvalid otherwise

// CN and every O of the subject, as UTF-8.
std::string CommonName(const X509& certificate);
std::vector<std::string> Organizations(const X509& certificate);

}  // namespace berth::net
