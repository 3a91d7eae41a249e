// webhook/controller/certificate_keeper.h — the webhook server's certificate, renewed while it
// runs.
//
//     Secret ─read, every few minutes─▶ another certificate? ─▶ its CAs into the registrations
//                                                          ─▶ a pause ─▶ serve it
//
// A certificate is served when every registration trusts it, and its bundle trusts the one before:
// whichever of two replicas an API server reaches, it trusts what it sees.
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
  // API servers hear of a changed registration through watches of their own.
  Duration pause = std::chrono::seconds(30);
};

class CertificateKeeper {
 public:
  // `served` is what the server serves already; `serve` gives it another one.
  CertificateKeeper(kube::ApiClient& client, const Clock& clock, CertificateKeeperOptions options,
                    ServingCertificate served, std::function<void(const net::TlsIdentity&)> serve);
  ~CertificateKeeper();
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  // `first_done` is called once, after the first pass over the registrations, with whether all of
  // them were there and have the CA.
  void Start(std::function<void(bool complete)> first_done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace berth::webhook
