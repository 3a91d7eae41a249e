// webhook/controller/serving_certificate.h — the certificate of the webhook server and of the
// metrics, shared by all replicas through the Secret kueue-webhook-server-cert (tls.crt, tls.key,
// ca.crt).
//
// The first replica makes a CA and a certificate and stores them; the others read the Secret. A
// certificate that ends soon, or lacks a DNS name, is replaced by the first replica that notices.
// ca.crt then has the new CA and the previous one, so that a replica with the old certificate is
// trusted as well.
//
// Threads: one Executor, that of the client. Errors: of the API; kInternal: OpenSSL failed.
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
      "kueue-controller-manager-metrics-service.kueue-system.svc.cluster.local",
      "kueue-visibility-server.kueue-system.svc",
      "kueue-visibility-server.kueue-system.svc.cluster.local"};
  // CAs of the served certificate, which the bundle of a new certificate includes.
  std::string served_ca_pem;
};

// Options of a controller in `namespace_name`: the Secret is in this namespace, and the certificate
// is for the Services in this namespace and in kueue-system, which manifests/webhook names.
ServingCertificateOptions CertificateIn(const std::string& namespace_name,
                                        const std::string& service = "kueue-webhook-service",
                                        const std::string& secret = "kueue-webhook-server-cert");

struct ServingCertificate {
  net::TlsIdentity identity;
  std::string ca_pem;  // a bundle; first the CA of the identity
};

// Makes a new CA, and a certificate of the CA that is valid for a year.
Result<ServingCertificate> MakeServingCertificate(const std::vector<std::string>& dns_names,
                                                  WallTime now);

// Reads the Secret, or creates it. `client` must live until `done` has been called.
void ObtainServingCertificate(kube::ApiClient& client, const Clock& clock,
                              ServingCertificateOptions options,
                              std::function<void(Result<ServingCertificate>)> done);

}  // namespace berth::webhook
