#include "webhook/controller/certificate_files.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "base/log/log.h"

namespace berth::webhook {
namespace {

constexpr std::streamsize kMostBytes = 1024 * 1024;

Result<std::string> ReadPem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, path + ": cannot be read"};
  std::string text(kMostBytes, '\0');
  file.read(text.data(), kMostBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.find("-----BEGIN ") == std::string::npos) {
    return Error{ErrorCode::kInvalid, path + ": is no PEM file"};
  }
  return text;
}

}  // namespace

Result<net::TlsIdentity> ReadCertificateFiles(const std::string& folder) {
  net::TlsIdentity identity;
  BERTH_TRY(identity.certificate_chain_pem, ReadPem(folder + "/tls.crt"));
  BERTH_TRY(identity.private_key_pem, ReadPem(folder + "/tls.key"));
  return identity;
}

struct CertificateFiles::State : std::enable_shared_from_this<State> {
  State(Executor& the_executor, Options the_options, net::TlsIdentity the_served,
        std::function<Status(const net::TlsIdentity&)> the_serve)
      : executor(the_executor),
        options(std::move(the_options)),
        seen(std::move(the_served)),
        serve(std::move(the_serve)) {}

  void LookLater() {
    executor.PostAfter(options.look_again, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Look();
    });
  }

  void Look() {
    Result<net::TlsIdentity> now = ReadCertificateFiles(options.folder);
    if (!now) {
      LogWarning("the certificate of webhooks and metrics", {{"error", now.error().message}});
      return LookLater();
    }
    const bool same = now->certificate_chain_pem == seen.certificate_chain_pem &&
                      now->private_key_pem == seen.private_key_pem;
    if (!same) {
      // Logged once: the two files may be replaced one after the other.
      const Status served = serve(*now);
      if (served) {
        LogInfo("serving the new certificate", {{"folder", options.folder}});
      } else {
        LogWarning("the new certificate cannot be served",
                   {{"folder", options.folder}, {"error", served.error().message}});
      }
      seen = *std::move(now);
    }
    LookLater();
  }

  Executor& executor;
  const Options options;
  net::TlsIdentity seen;
  std::function<Status(const net::TlsIdentity&)> serve;
};

CertificateFiles::CertificateFiles(Executor& executor, Options options,
                                   const net::TlsIdentity& served,
                                   std::function<Status(const net::TlsIdentity&)> serve)
    : state_(std::make_shared<State>(executor, std::move(options), served, std::move(serve))) {
  state_->LookLater();
}

CertificateFiles::~CertificateFiles() = default;

}  // namespace berth::webhook
