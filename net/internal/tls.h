// net/internal/tls.h — OpenSSL contexts made from PEM.
//
// Errors: kInvalid where a PEM cannot be read or certificate and key do not belong together.
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
  // Before a client's handshake: server name, certificate check, session to resume.
  virtual Status PrepareClient(SSL* ssl, const std::string& server_name) = 0;
};

// TLS 1.2 or newer, ALPN http/1.1. With `client_ca_pem`, client certificates are asked for; who
// sends none stays anonymous, who sends one of another CA is refused.
Result<std::shared_ptr<TlsContext>> MakeServerTls(const TlsIdentity& identity,
                                                  std::string_view client_ca_pem);

// Trusts `ca_pem` alone, or the system's roots where it is empty; `certificate` may be null.
Result<std::shared_ptr<TlsContext>> MakeClientTls(std::string_view ca_pem,
                                                  const TlsIdentity* certificate);

// The reason of the oldest OpenSSL error of this thread, and clears them all.
std::string TakeTlsError();

}  // namespace berth::net
