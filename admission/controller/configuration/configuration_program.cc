// The fields of the Configuration that fill ProgramOptions, and metrics.customLabels.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "admission/controller/configuration/configuration_parts.h"
#include "base/dns_names.h"

namespace berth::admission {
namespace {

using api::Reader;

constexpr double kRetryJitter = 1.2;  // client-go's factor: a retry may come later by it
constexpr std::int32_t kMostConcurrent = 1000;
constexpr std::size_t kMostCustomLabels = 20;
constexpr std::size_t kMostTrackedValues = 16;
constexpr std::size_t kMostTrackedOfWorkloads = 12;

// Kinds of Kueue whose controllers Berth has under the same name, beside those of frameworks with a
// group.
constexpr std::array<std::string_view, 10> kConcurrentKinds{
    "AdmissionCheck.kueue.x-k8s.io", "ClusterQueue.kueue.x-k8s.io",
    "Cohort.kueue.x-k8s.io",         "Deployment.apps",
    "LocalQueue.kueue.x-k8s.io",     "Pod",
    "ResourceFlavor.kueue.x-k8s.io", "StatefulSet.apps",
    "Topology.kueue.x-k8s.io",       "Workload.kueue.x-k8s.io"};

using Source = CustomMetricLabel::Source;
constexpr api::Words<Source, 4> kSourceWords{{{"ClusterQueue", Source::kClusterQueue},
                                              {"LocalQueue", Source::kLocalQueue},
                                              {"Cohort", Source::kCohort},
                                              {"Workload", Source::kWorkload}}};

bool IsObjectName(std::string_view name) {
  constexpr std::size_t kLongest = 253;
  return name.size() <= kLongest && IsDnsSubdomain(name);
}

bool IsMetricName(const std::string& name) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return is_letter(c) || c == '_' || std::isdigit(static_cast<unsigned char>(c)) != 0;
         });
}

void ReadTrackedValues(const Reader& in, CustomMetricLabel& out) {
  in.Get(out.tracked_values);
  const bool of_workloads = out.source == Source::kWorkload;
  const std::size_t most = of_workloads ? kMostTrackedOfWorkloads : kMostTrackedValues;
  if (of_workloads && out.tracked_values.empty()) {
    return in.Fail("must not be empty where sourceKind is Workload");
  }
  if (out.tracked_values.size() > most) {
    return in.Fail("has more than " + std::to_string(most) + " values");
  }
  const std::set<std::string> distinct(out.tracked_values.begin(), out.tracked_values.end());
  if (distinct.size() < out.tracked_values.size()) in.Fail("has a value twice");
}

void ReadCustomLabel(const Reader& in, CustomMetricLabel& out, Configuration& config) {
  CheckFields(in, "metrics.customLabels",
              {"name", "sourceLabelKey", "sourceAnnotationKey", "sourceKind", "trackedValues"}, {},
              config);
  const Reader name = in.Field("name");
  name.Get(out.name);
  if (!IsMetricName(out.name)) name.Fail("must match ^[a-zA-Z][a-zA-Z0-9_]*$");
  std::string label;
  std::string annotation;
  const Reader annotation_key = in.Field("sourceAnnotationKey");
  in.Field("sourceLabelKey").Get(label);
  annotation_key.Get(annotation);
  if (!label.empty() && !annotation.empty()) {
    annotation_key.Fail("excludes sourceLabelKey: give one of them");
  }
  if (!annotation.empty()) out.metadata = CustomMetricLabel::Metadata::kAnnotation;
  out.key = !label.empty() ? label : !annotation.empty() ? annotation : out.name;
  if (!IsLabelKey(out.key)) in.Fail("\"" + out.key + "\" is not a label's key");
  in.Field("sourceKind").Get(out.source, kSourceWords);
  const Reader tracked = in.Field("trackedValues");
  ReadTrackedValues(tracked, out);
}

void ReadPort(const Reader& in, std::optional<std::uint16_t>& out) {
  std::optional<std::int32_t> port;
  in.Get(port);
  if (port.value_or(0) == 0) return;
  if (*port < 1 || *port > UINT16_MAX) return in.Fail("must be between 1 and 65535");
  out = static_cast<std::uint16_t>(*port);
}

// One segment of a path.
void ReadEndpoint(const Reader& in, std::string& out) {
  std::string name = out;
  in.Get(name);
  if (name.empty()) return;
  if (name.front() == '/') name.erase(0, 1);
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!plain) return in.Fail("must be one segment of a path, such as readyz");
  out = std::move(name);
}

}  // namespace

void ReadCustomLabels(const Reader& in, Configuration& out) {
  std::vector<CustomMetricLabel>& labels = out.admission.metrics.custom_labels;
  std::set<std::string> names;
  std::map<Source, std::size_t> counts;
  in.Each([&](const Reader& item) {
    CustomMetricLabel& label = labels.emplace_back();
    ReadCustomLabel(item, label, out);
    if (!names.insert(label.name).second) {
      const Reader name = item.Field("name");
      name.Fail("\"" + label.name + "\" comes twice");
    }
    const std::size_t most = label.source == Source::kWorkload ? 2 : 6;
    if (++counts[label.source] > most) {
      item.Fail("more than " + std::to_string(most) + " labels of one sourceKind");
    }
  });
  if (labels.size() > kMostCustomLabels) {
    in.Fail("has more than " + std::to_string(kMostCustomLabels) + " labels");
  }
}

void ReadWebhook(const Reader& in, Configuration& out) {
  CheckFields(in, "webhook", {"host", "port", "certDir"}, {}, out);
  WebhookListenOptions& webhook = out.program.webhook;
  in.Field("host").Get(webhook.host);
  const Reader port = in.Field("port");
  ReadPort(port, webhook.port);
  const Reader folder = in.Field("certDir");
  ReadUnlessZero(folder, webhook.certificate_folder);
}

void ReadVisibilityServer(const Reader& in, Configuration& out) {
  CheckFields(in, "visibilityServer", {"bindAddress", "bindPort"}, {}, out);
  VisibilityOptions& visibility = out.program.visibility;
  in.Field("bindAddress").Get(visibility.host);
  const Reader port = in.Field("bindPort");
  ReadPort(port, visibility.port);
}

void ReadInternalCertManagement(const Reader& in, const Reader& webhook, Configuration& out) {
  CheckFields(in, "internalCertManagement", {"enable", "webhookServiceName", "webhookSecretName"},
              {}, out);
  CertificateManagement& certificate = out.program.certificate;
  in.Field("enable").Get(certificate.internal);
  const Reader service = in.Field("webhookServiceName");
  const Reader secret = in.Field("webhookSecretName");
  ReadUnlessZero(service, certificate.service);
  ReadUnlessZero(secret, certificate.secret);
  if (!IsObjectName(certificate.service) || certificate.service.find('.') != std::string::npos) {
    service.Fail("\"" + certificate.service + "\" is not the name of a Service");
  }
  if (!IsObjectName(certificate.secret)) {
    secret.Fail("\"" + certificate.secret + "\" is not the name of a Secret");
  }
  const Reader folder = webhook.Field("certDir");
  if (certificate.internal && folder.present() && !IsUnset(folder.json())) {
    out.ignored.push_back({"webhook.certDir",
                           "internalCertManagement is on: the certificate is in its Secret and in "
                           "memory; switch it off to serve that of the folder"});
  }
}

void ReadHealth(const Reader& in, Configuration& out) {
  CheckFields(in, "health",
              {"healthProbeBindAddress", "readinessEndpointName", "livenessEndpointName"}, {}, out);
  EndpointOptions& endpoints = out.program.endpoints;
  in.Field("healthProbeBindAddress").Get(endpoints.health_address);
  const Reader readiness = in.Field("readinessEndpointName");
  ReadEndpoint(readiness, endpoints.readiness_endpoint);
  const Reader liveness = in.Field("livenessEndpointName");
  ReadEndpoint(liveness, endpoints.liveness_endpoint);
  if (endpoints.readiness_endpoint == endpoints.liveness_endpoint) {
    readiness.Fail("must differ from livenessEndpointName");
  }
}

void ReadClientConnection(const Reader& in, Configuration& out) {
  if (!in.present()) return;
  CheckFields(in, "clientConnection", {"qps", "burst"}, {}, out);
  const Reader qps = in.Field("qps");
  const Reader burst = in.Field("burst");
  double per_second = 0;
  if (qps.present()) {
    if (!qps.json().is_number()) return qps.Fail("expected a number");
    per_second = qps.json().get<double>();
  }
  std::int32_t most = 0;
  burst.Get(most);
  if (per_second < 0) return;  // client-go does the same: no limit
  if (per_second == 0 && most == 0) return;
  RequestLimitOptions limit;
  if (per_second != 0) limit.per_second = per_second;
  if (most != 0) limit.burst = most;
  if (limit.per_second < 0.001) return qps.Fail("must be at least 0.001; negative: no limit");
  if (limit.burst < 1) return burst.Fail("must be at least 1");
  out.program.request_limit = limit;
}

void ReadController(const Reader& in, Configuration& out) {
  CheckFields(in, "controller", {"groupKindConcurrency"}, {"cacheSyncTimeout"}, out);
  const Reader kinds = in.Field("groupKindConcurrency");
  kinds.EachMember("a map of kind to number", [&](const std::string& kind, const Reader& value) {
    std::int32_t count = 0;
    value.Get(count);
    if (count == 0) return;  // the default of the kind
    if (count < 1 || count > kMostConcurrent) {
      return value.Fail("must be between 1 and " + std::to_string(kMostConcurrent));
    }
    if (std::find(kConcurrentKinds.begin(), kConcurrentKinds.end(), kind) ==
            kConcurrentKinds.end() &&
        !IsKindOfFramework(kind)) {
      out.ignored.push_back(
          {"controller.groupKindConcurrency." + kind,
           "Berth has no controller of that kind, unless a JobKind declares the kind"});
    }
    out.program.concurrency[kind] = static_cast<std::size_t>(count);
  });
}

void ReadLeaderElection(const Reader& in, Configuration& out) {
  CheckFields(in, "leaderElection",
              {"leaderElect", "leaseDuration", "renewDeadline", "retryPeriod", "resourceLock",
               "resourceName", "resourceNamespace"},
              {}, out);
  LeaderOptions& leader = out.program.leader;
  in.Field("leaderElect").Get(leader.enabled);
  const Reader lease = in.Field("leaseDuration");
  const Reader renew = in.Field("renewDeadline");
  const Reader retry = in.Field("retryPeriod");
  ReadUnlessZero(lease, leader.lease_duration);
  ReadUnlessZero(renew, leader.renew_deadline);
  ReadUnlessZero(retry, leader.retry_period);
  // The Lease has whole seconds.
  if (leader.lease_duration < std::chrono::seconds(1)) lease.Fail("must be at least 1s");
  if (leader.lease_duration <= leader.renew_deadline) {
    lease.Fail("must be greater than renewDeadline");
  }
  if (static_cast<double>(leader.renew_deadline.count()) <=
      kRetryJitter * static_cast<double>(leader.retry_period.count())) {
    renew.Fail("must be greater than 1.2 times retryPeriod");
  }
  const Reader lock = in.Field("resourceLock");
  std::string kind = "leases";
  ReadUnlessZero(lock, kind);
  if (kind != "leases") lock.Fail("must be leases");
  const Reader name = in.Field("resourceName");
  ReadUnlessZero(name, leader.resource_name);
  if (!IsObjectName(leader.resource_name)) {
    name.Fail("\"" + leader.resource_name + "\" is not the name of a Lease");
  }
  in.Field("resourceNamespace").Get(leader.resource_namespace);
}

}  // namespace berth::admission
