// webhook/controller/certificate_files.h — a serving certificate that another program maintains:
// the files tls.crt and tls.key of a folder, as cert-manager mounts them.
//
//     folder ─read at each interval─▶ another pair? ─▶ serve(identity)
//
// Berth never writes to the folder. A pair that cannot be served is logged, and the served pair
// stays.
//
// Threads: one Executor; destroy it there. Errors: kNotFound, kInvalid with the path of the file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "net/server.h"

namespace berth::webhook {

Result<net::TlsIdentity> ReadCertificateFiles(const std::string& folder);

class CertificateFiles {
 public:
  struct Options {
    std::string folder;
    Duration look_again = std::chrono::seconds(10);
  };

  // `served`: the identity that the server has; `serve` replaces it.
  CertificateFiles(Executor& executor, Options options, const net::TlsIdentity& served,
                   std::function<Status(const net::TlsIdentity&)> serve);
  ~CertificateFiles();
  CertificateFiles(const CertificateFiles&) = delete;
  CertificateFiles& operator=(const CertificateFiles&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::webhook
