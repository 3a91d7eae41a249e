#include "net/internal/tls.h"

#include <array>
#include <mutex>
#include <string>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/assert.h"
#include "net/internal/openssl.h"

namespace berth::net {
namespace {

constexpr std::string_view kAlpn("\x08http/1.1", 9);

using SslContextPtr = std::unique_ptr<SSL_CTX, OpenSslFree>;
using SessionPtr = std::unique_ptr<SSL_SESSION, OpenSslFree>;

Error Invalid(std::string_view what) {
  const std::string reason = TakeTlsError();
  return {ErrorCode::kInvalid,
          std::string(what) + (reason.empty() ? std::string() : ": " + reason)};
}

Result<SslContextPtr> NewContext(const SSL_METHOD* method) {
  ERR_clear_error();
  SslContextPtr context(SSL_CTX_new(method));
  if (!context) return Error{ErrorCode::kInternal, "SSL_CTX_new: " + TakeTlsError()};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Status UseIdentity(SSL_CTX* context, const TlsIdentity& identity) {
  BERTH_TRY(const std::vector<X509Ptr> chain, ReadCertificates(identity.certificate_chain_pem));
  BERTH_TRY(const KeyPtr key, ReadPrivateKey(identity.private_key_pem));
  if (SSL_CTX_use_certificate(context, chain.front().get()) != 1) {
    return Invalid("the TLS certificate cannot be used");
  }
  for (std::size_t index = 1; index < chain.size(); ++index) {
    if (SSL_CTX_add1_chain_cert(context, chain[index].get()) != 1) {
      return Invalid("the TLS certificate chain cannot be used");
    }
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return Invalid("the TLS certificate and the private key do not belong together");
  }
  return OkStatus();
}

// Adds the certificates of the PEM to the trusted ones of `context`; if `announce` is true, also to
// the list that a server sends with its request for a client certificate.
enum class Announce { kNo, kYes };
Status Trust(SSL_CTX* context, std::string_view ca_pem, Announce announce) {
  BERTH_TRY(const std::vector<X509Ptr> roots, ReadCertificates(ca_pem));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const X509Ptr& root : roots) {
    if (X509_STORE_add_cert(store, root.get()) != 1) return Invalid("the CA cannot be used");
    if (announce == Announce::kYes) SSL_CTX_add_client_CA(context, root.get());
  }
  return OkStatus();
}

int ChooseAlpn(SSL*, const unsigned char** out, unsigned char* out_length,
               const unsigned char* offered, unsigned offered_length, void*) {
  unsigned char* chosen = nullptr;
  const auto* ours = reinterpret_cast<const unsigned char*>(kAlpn.data());
  if (SSL_select_next_proto(&chosen, out_length, ours, kAlpn.size(), offered, offered_length) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

class ServerTls final : public TlsContext {
 public:
  explicit ServerTls(SslContextPtr context) : context_(std::move(context)) {}
  SSL_CTX* handle() const override { return context_.get(); }
  Status PrepareClient(SSL*, const std::string&) override {
    return Error{ErrorCode::kInternal, "a server's TLS context used by a client"};
  }

 private:
  SslContextPtr context_;
};

bool IsIpAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

class ClientTls final : public TlsContext {
 public:
  explicit ClientTls(SslContextPtr context) : context_(std::move(context)) {
    // Not index 0, which Asio uses.
    SSL_CTX_set_ex_data(context_.get(), ExIndex(), this);
    SSL_CTX_set_session_cache_mode(context_.get(),
                                   SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_.get(), [](SSL* ssl, SSL_SESSION* session) {
      auto* self = static_cast<ClientTls*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), ExIndex()));
      const std::lock_guard lock(self->mutex_);
      self->session_.reset(session);
      return 1;  // takes the reference
    });
  }

  SSL_CTX* handle() const override { return context_.get(); }

  Status PrepareClient(SSL* ssl, const std::string& server_name) override {
    ERR_clear_error();
    if (IsIpAddress(server_name)) {
      if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), server_name.c_str()) != 1) {
        return Invalid("cannot check the certificate against " + server_name);
      }
    } else if (SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                        const_cast<char*>(server_name.c_str())) != 1 ||
               SSL_set1_host(ssl, server_name.c_str()) != 1) {
      return Invalid("cannot check the certificate against " + server_name);
    }
    const std::lock_guard lock(mutex_);
    if (session_ && SSL_SESSION_is_resumable(session_.get()) == 1) {
      SSL_set_session(ssl, session_.get());
    }
    return OkStatus();
  }

 private:
  static int ExIndex() {
    static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
  }

  std::mutex mutex_;
  SessionPtr session_;  // newest session
  SslContextPtr context_;
};

}  // namespace

std::string TakeTlsError() {
  const unsigned long code = ERR_get_error();  // NOLINT(google-runtime-int): OpenSSL's type
  ERR_clear_error();
  if (code == 0) return {};
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "OpenSSL error " + std::to_string(code) : reason;
}

Result<std::shared_ptr<TlsContext>> MakeServerTls(const TlsIdentity& identity,
                                                  std::string_view client_ca_pem) {
  BERTH_TRY(SslContextPtr context, NewContext(TLS_server_method()));
  BERTH_CHECK_OK(UseIdentity(context.get(), identity));
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseAlpn, nullptr);
  SSL_CTX_set_options(context.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  if (!client_ca_pem.empty()) {
    if (auto trusted = Trust(context.get(), client_ca_pem, Announce::kYes); !trusted) {
      return Annotate(trusted.error(), "client CA");
    }
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    // Without it, OpenSSL refuses to resume sessions of clients that it has verified.
    constexpr std::string_view kIdContext = "berth";
    SSL_CTX_set_session_id_context(context.get(),
                                   reinterpret_cast<const unsigned char*>(kIdContext.data()),
                                   kIdContext.size());
  }
  return std::shared_ptr<TlsContext>(std::make_shared<ServerTls>(std::move(context)));
}

Result<std::shared_ptr<TlsContext>> MakeClientTls(std::string_view ca_pem,
                                                  const TlsIdentity* certificate,
                                                  ServerCheck check) {
  BERTH_TRY(SslContextPtr context, NewContext(TLS_client_method()));
  if (ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context.get()) != 1) {
      return Invalid("the system's CA certificates cannot be read");
    }
  } else if (auto trusted = Trust(context.get(), ca_pem, Announce::kNo); !trusted) {
    return Annotate(trusted.error(), "CA");
  }
  if (certificate != nullptr) {
    if (auto used = UseIdentity(context.get(), *certificate); !used) {
      return Annotate(used.error(), "client certificate");
    }
  }
  SSL_CTX_set_verify(context.get(), check == ServerCheck::kNone ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     nullptr);
  SSL_CTX_set_alpn_protos(context.get(), reinterpret_cast<const unsigned char*>(kAlpn.data()),
                          kAlpn.size());
  return std::shared_ptr<TlsContext>(std::make_shared<ClientTls>(std::move(context)));
}

}  // namespace berth::net
