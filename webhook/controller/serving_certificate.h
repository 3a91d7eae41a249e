// webhook/controller/serving_certificate.h — the certificate of the webhook server and of the
// metrics, shared by all replicas through the Secret kueue-webhook-server-cert (tls.crt, tls.key,
// ca.crt).
//
// The first replica makes a CA and a certificate and stores them; the others read. A certificate
// that ends soon, or lacks a DNS name, is made anew by the replica that sees it first. ca.crt then
// has the new CA and the one before: a replica that still serves the old certificate is trusted as
// well.
//
// Threads: one Executor, that of the client. Errors: of the API; kInternal where OpenSSL refuses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kube/client/api_client.h"
#include "net/server.h"

namespace berth::webhook {

struct ServingCertificateOptions {
  api::ObjectKey secret{"kueue-system", "kueue-webhook-server-cert"};
  std::vector<std::string> dns_names{
      "kueue-webhook-service.kueue-system.svc",
      "kueue-webhook-service.kueue-system.svc.cluster.local",
      "kueue-controller-manager-metrics-service.kueue-system.svc",
      "kueue-controller-manager-metrics-service.kueue-system.svc.cluster.local"};
  // CAs of a certificate that is being served: a certificate that is made keeps them in its bundle.
  std::string served_ca_pem;
};

// Of a controller in `namespace_name`: its Secret is there, and the certificate is for its Services
// there and in kueue-system, where manifests/webhook expects them.
ServingCertificateOptions CertificateIn(const std::string& namespace_name);

struct ServingCertificate {
  net::TlsIdentity identity;
  std::string ca_pem;  // a bundle; its first CA is that of the identity
};

// A fresh CA, and a certificate of it that is good for a year.
Result<ServingCertificate> MakeServingCertificate(const std::vector<std::string>& dns_names,
                                                  WallTime now);

// Reads the Secret, or makes it. `client` must live until `done` has been called.
void ObtainServingCertificate(kube::ApiClient& client, const Clock& clock,
                              ServingCertificateOptions options,
                              std::function<void(Result<ServingCertificate>)> done);

}  // namespace berth::webhook
