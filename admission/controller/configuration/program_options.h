// admission/controller/configuration/program_options.h — the parts of the Configuration that
// configure the controller program: ports, certificates, limits of requests, leader election.
// Decisions do not depend on them.
//
// Threads: data. Source: Kueue apis/config/v1beta2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"

namespace berth::admission {

struct WebhookListenOptions {
  std::string host;                   // empty: every address
  std::optional<std::uint16_t> port;  // nullopt: 9443
  // The folder of tls.crt and tls.key, where internalCertManagement is off.
  std::string certificate_folder = "/tmp/k8s-webhook-server/serving-certs";
};

struct VisibilityOptions {
  bool served = true;                 // gate VisibilityOnDemand
  std::string host;                   // empty: every address
  std::optional<std::uint16_t> port;  // nullopt: 8082
};

struct CertificateManagement {
  // false: another program writes the certificate into webhook.certDir and the CA into the API.
  bool internal = true;
  std::string service = "kueue-webhook-service";
  std::string secret = "kueue-webhook-server-cert";
};

// "ADDRESS:PORT"; "0": not served; empty: the file has no value.
struct EndpointOptions {
  std::string metrics_address;
  std::string health_address;
  std::string readiness_endpoint = "readyz";
  std::string liveness_endpoint = "healthz";
};

struct RequestLimitOptions {
  double per_second = 300;
  int burst = 500;
};

struct LeaderOptions {
  std::optional<bool> enabled;  // nullopt: the file has no value
  std::string resource_name = "c1f6bfd2.kueue.x-k8s.io";
  std::string resource_namespace;  // empty: the controller's namespace
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
};

struct ProgramOptions {
  WebhookListenOptions webhook;
  VisibilityOptions visibility;
  CertificateManagement certificate;
  EndpointOptions endpoints;
  LeaderOptions leader;
  std::optional<RequestLimitOptions> request_limit;  // nullopt: none
  // Reconciles under way at once, by "Kind.group" (a core kind: "Pod"). The kind may be a declared
  // kind. Kinds without an entry keep Berth's numbers.
  std::map<std::string, std::size_t> concurrency;
};

}  // namespace berth::admission
