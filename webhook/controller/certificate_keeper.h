// webhook/controller/certificate_keeper.h — renews the webhook server's certificate while the
// server runs.
//
//     Secret ─read, every few minutes─▶ another certificate? ─▶ its CAs into the registrations
//                                                          ─▶ a pause ─▶ serve it
//
// A certificate is served when every registration trusts it, and its bundle also trusts the
// certificate that it replaces: an API server trusts whichever replica it reaches.
//
// Threads: one Executor, that of the client; destroy it there.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "kube/client/api_client.h"
#include "webhook/controller/ca_injector.h"
#include "webhook/controller/serving_certificate.h"

namespace berth::webhook {

struct CertificateKeeperOptions {
  ServingCertificateOptions secret;
  CaInjectorOptions registrations;
  Duration look_again = std::chrono::minutes(5);
  // The time for API servers to see a changed registration through their watches.
  Duration pause = std::chrono::seconds(30);
};

class CertificateKeeper {
 public:
  // `served`: the certificate that the server has; `serve` replaces it.
  CertificateKeeper(kube::ApiClient& client, const Clock& clock, CertificateKeeperOptions options,
                    ServingCertificate served, std::function<void(const net::TlsIdentity&)> serve);
  ~CertificateKeeper();
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  // Calls `first_done` once, after the first pass over the registrations. `complete`: all of them
  // existed and have the CA.
  void Start(std::function<void(bool complete)> first_done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::webhook
