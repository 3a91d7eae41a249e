// net/internal/tls.h — OpenSSL contexts made from PEM.
//
// Errors: kInvalid for a PEM that cannot be parsed, or a certificate that does not match its key.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/server.h"  // TlsIdentity

typedef struct ssl_ctx_st SSL_CTX;  // NOLINT: OpenSSL's own name
typedef struct ssl_st SSL;          // NOLINT

namespace berth::net {

struct TlsContext {
  virtual ~TlsContext() = default;
  virtual SSL_CTX* handle() const = 0;
  // Call before a client's handshake: sets server name, certificate check, session to resume.
  virtual Status PrepareClient(SSL* ssl, const std::string& server_name) = 0;
};

// TLS 1.2 or newer, ALPN http/1.1. With `client_ca_pem`, requests a client certificate; a client
// without a certificate is anonymous, and a client whose certificate is of another CA is refused.
Result<std::shared_ptr<TlsContext>> MakeServerTls(const TlsIdentity& identity,
                                                  std::string_view client_ca_pem);

enum class ServerCheck { kCertificate, kNone };

// Trusts `ca_pem` alone, or the system's roots if it is empty; `certificate` may be null.
Result<std::shared_ptr<TlsContext>> MakeClientTls(std::string_view ca_pem,
                                                  const TlsIdentity* certificate,
                                                  ServerCheck check = ServerCheck::kCertificate);

// Returns the oldest OpenSSL error of this thread, and clears all of them.
std::string TakeTlsError();

}  // namespace berth::net
