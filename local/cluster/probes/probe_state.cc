#include "local/cluster/probes/probe_state.h"

#include <algorithm>

#include "base/seconds.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr const char* FieldOf(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup: return "startupProbe";
    case ProbeKind::kReadiness: return "readinessProbe";
    case ProbeKind::kLiveness: return "livenessProbe";
  }
  return "";
}

std::uint16_t PortOf(const Json& container, const Json* port) {
  if (port == nullptr) return 0;
  if (port->is_number_integer()) return static_cast<std::uint16_t>(port->get<std::int64_t>());
  for (const Json& one : ArrayAt(container, {"ports"})) {
    if (StringAt(one, {"name"}) == StringAt(*port, {})) {
      return static_cast<std::uint16_t>(IntAt(one, {"containerPort"}));
    }
  }
  return 0;
}

ProbeTarget TargetOf(const Json& container, const Json& probe, const std::string& pod_address) {
  ProbeTarget target;
  target.host = pod_address;
  if (const Json* exec = Find(probe, {"exec"}); exec != nullptr) {
    target.how = ProbeTarget::How::kExec;
    for (const Json& word : ArrayAt(*exec, {"command"})) {
      target.command.push_back(StringAt(word, {}));
    }
  } else if (const Json* http = Find(probe, {"httpGet"}); http != nullptr) {
    const bool is_plain = StringAt(*http, {"scheme"}, "HTTP") == "HTTP";
    target.how = is_plain ? ProbeTarget::How::kHttp : ProbeTarget::How::kTcp;
    target.host = StringAt(*http, {"host"}, pod_address);
    target.port = PortOf(container, Find(*http, {"port"}));
    target.path = StringAt(*http, {"path"}, "/");
    if (target.path.empty() || target.path[0] != '/') target.path = "/" + target.path;
    for (const Json& header : ArrayAt(*http, {"httpHeaders"})) {
      target.headers.emplace_back(StringAt(header, {"name"}), StringAt(header, {"value"}));
    }
  } else {
    const char* handler = Find(probe, {"grpc"}) != nullptr ? "grpc" : "tcpSocket";
    target.host = StringAt(probe, {handler, "host"}, pod_address);
    target.port = PortOf(container, Find(probe, {handler, "port"}));
  }
  return target;
}

Duration SecondsAt(const Json& probe, std::string_view field, std::int64_t fallback) {
  return BoundedSeconds(std::max<std::int64_t>(IntAt(probe, {field}, fallback), 0));
}

}  // namespace

ProbeState::ProbeState(ProbeKind kind, const Json& spec)
    : kind_(kind),
      initial_delay_(SecondsAt(spec, "initialDelaySeconds", 0)),
      period_(std::max<Duration>(SecondsAt(spec, "periodSeconds", 10), std::chrono::seconds(1))),
      timeout_(std::max<Duration>(SecondsAt(spec, "timeoutSeconds", 1), std::chrono::seconds(1))),
      success_threshold_(std::max<std::int64_t>(IntAt(spec, {"successThreshold"}, 1), 1)),
      failure_threshold_(std::max<std::int64_t>(IntAt(spec, {"failureThreshold"}, 3), 1)),
      verdict_(kind == ProbeKind::kLiveness) {}

std::optional<bool> ProbeState::Note(bool success) {
  in_a_row_ = success == last_ ? in_a_row_ + 1 : 1;
  last_ = success;
  if (in_a_row_ < (success ? success_threshold_ : failure_threshold_)) return std::nullopt;
  // A container that has not started is given up, although its verdict was "not started" already.
  const bool is_final = !success && kind_ != ProbeKind::kReadiness;
  if (success == verdict_ && !is_final) return std::nullopt;
  verdict_ = success;
  return success;
}

std::vector<DeclaredProbe> ProbesOf(const Json& container, const std::string& pod_address) {
  std::vector<DeclaredProbe> probes;
  for (const ProbeKind kind : {ProbeKind::kStartup, ProbeKind::kReadiness, ProbeKind::kLiveness}) {
    const Json* probe = Find(container, {FieldOf(kind)});
    if (probe == nullptr) continue;
    probes.push_back({ProbeState(kind, *probe), TargetOf(container, *probe, pod_address)});
  }
  return probes;
}

bool HasProbe(const Json& container, ProbeKind kind) {
  return Find(container, {FieldOf(kind)}) != nullptr;
}

std::string NameOf(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup: return "Startup";
    case ProbeKind::kReadiness: return "Readiness";
    case ProbeKind::kLiveness: return "Liveness";
  }
  return "";
}

}  // namespace berth::local::cluster
