#include "tests/net/raw_peer.h"

#include <array>
#include <cstdlib>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/assert.h"
#include "net/http.h"

namespace berth::net {
namespace {

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void SetTimeouts(int socket) {
  const timeval ten_seconds{10, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &ten_seconds, sizeof(ten_seconds));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &ten_seconds, sizeof(ten_seconds));
}

std::shared_ptr<BIO> PemSource(const std::string& pem) {
  return {BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free};
}

void UseIdentity(SSL_CTX* context, const TlsIdentity& identity) {
  const auto certificate_bio = PemSource(identity.certificate_chain_pem);
  const auto key_bio = PemSource(identity.private_key_pem);
  X509* certificate = PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr);
  BERTH_ASSERT(SSL_CTX_use_certificate(context, certificate) == 1);
  BERTH_ASSERT(SSL_CTX_use_PrivateKey(context, key) == 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

// OpenSSL writes without MSG_NOSIGNAL. SIGPIPE is blocked for this thread and this moment only: on
// the threads of the tested code it would end the program.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec at_once{};
    while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
};

}  // namespace

RawPeer RawPeer::Connect(std::uint16_t port, const char* source) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  SetTimeouts(socket);
  sockaddr_in from = Loopback(0);
  BERTH_ASSERT(inet_pton(AF_INET, source, &from.sin_addr) == 1);
  BERTH_ASSERT(bind(socket, reinterpret_cast<const sockaddr*>(&from), sizeof(from)) == 0);
  const sockaddr_in address = Loopback(port);
  BERTH_ASSERT(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  return RawPeer(socket);
}

RawPeer::RawPeer(RawPeer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      context_(std::move(other.context_)),
      tls_(std::move(other.tls_)),
      received_(std::move(other.received_)) {}

RawPeer::~RawPeer() {
  const NoSigpipe guard;
  if (tls_) SSL_shutdown(tls_.get());
  if (socket_ >= 0) close(socket_);
}

bool RawPeer::StartTls(const RawTlsOptions& options, bool (*handshake)(SSL*)) {
  context_ = options.context;
  if (!context_) context_.reset(SSL_CTX_new(TLS_method()), SSL_CTX_free);
  if (options.identity != nullptr) UseIdentity(context_.get(), *options.identity);
  if (!options.ca_pem.empty()) {
    const auto bio = PemSource(options.ca_pem);
    X509* root = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), root);
    X509_free(root);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  tls_.reset(SSL_new(context_.get()), SSL_free);
  if (!options.alpn.empty()) {
    SSL_set_alpn_protos(tls_.get(), reinterpret_cast<const unsigned char*>(options.alpn.data()),
                        static_cast<unsigned>(options.alpn.size()));
  }
  SSL_set_fd(tls_.get(), socket_);
  ERR_clear_error();
  const NoSigpipe guard;
  return handshake(tls_.get());
}

bool RawPeer::StartTlsAsClient(const RawTlsOptions& options) {
  return StartTls(options, [](SSL* ssl) { return SSL_connect(ssl) == 1; });
}

bool RawPeer::StartTlsAsServer(const RawTlsOptions& options) {
  return StartTls(options, [](SSL* ssl) { return SSL_accept(ssl) == 1; });
}

std::string RawPeer::chosen_alpn() const {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(tls_.get(), &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

bool RawPeer::was_resumed() const { return SSL_session_reused(tls_.get()) == 1; }

bool RawPeer::Send(std::string_view bytes) {
  const NoSigpipe guard;
  while (!bytes.empty()) {
    const auto count = tls_ ? SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size()))
                            : send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void RawPeer::ShutdownSend() { shutdown(socket_, SHUT_WR); }

void RawPeer::Reset() {
  const linger now{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  tls_.reset();
  close(std::exchange(socket_, -1));
}

bool RawPeer::Fill() {
  const NoSigpipe guard;
  std::array<char, 16384> piece{};
  const auto count = tls_ ? SSL_read(tls_.get(), piece.data(), static_cast<int>(piece.size()))
                          : recv(socket_, piece.data(), piece.size(), 0);
  if (count <= 0) return false;
  received_.append(piece.data(), static_cast<std::size_t>(count));
  return true;
}

std::string RawPeer::ReadUntil(std::string_view marker) {
  for (;;) {
    const std::size_t at = received_.find(marker);
    if (at != std::string::npos) {
      const std::string text = received_.substr(0, at + marker.size());
      received_.erase(0, text.size());
      return text;
    }
    if (!Fill()) return std::exchange(received_, {});
  }
}

std::string RawPeer::ReadResponse() {
  std::string text = ReadUntil("\r\n\r\n");
  const std::string_view kLength = "Content-Length: ";
  const std::size_t at = text.find(kLength);
  if (at == std::string::npos) {
    if (text.find("Transfer-Encoding: chunked") != std::string::npos)
      text += ReadUntil("0\r\n\r\n");
    return text;
  }
  const auto length = std::strtoul(text.c_str() + at + kLength.size(), nullptr, 10);
  while (received_.size() < length && Fill()) {
  }
  text += received_.substr(0, length);
  received_.erase(0, length);
  return text;
}

std::string RawPeer::ReadToEnd() {
  while (Fill()) {
  }
  return std::exchange(received_, {});
}

bool RawPeer::IsEnded() {
  if (!received_.empty()) return false;
  char byte = 0;
  if (tls_) return SSL_read(tls_.get(), &byte, 1) <= 0 && errno != EAGAIN;
  const auto count = recv(socket_, &byte, 1, 0);
  return count == 0 || (count < 0 && errno == ECONNRESET);
}

RawListener::RawListener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  SetTimeouts(socket_);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  BERTH_ASSERT(bind(socket_, generic, size) == 0 && listen(socket_, 64) == 0);
  BERTH_ASSERT(getsockname(socket_, generic, &size) == 0);
  port_ = ntohs(address.sin_port);
}

RawListener::~RawListener() { close(socket_); }

RawPeer RawListener::Accept() {
  const int accepted = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (accepted >= 0) SetTimeouts(accepted);
  return RawPeer(accepted);
}

}  // namespace berth::net
