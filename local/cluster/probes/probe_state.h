// local/cluster/probes/probe_state.h — the verdict on a container from the results of one probe.
//
// Pure. Source: Kubernetes "Configure Liveness, Readiness and Startup Probes".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

enum class ProbeKind : std::uint8_t { kStartup, kReadiness, kLiveness };

// The target of a probe. An https or grpc handler passes once its port accepts a connection.
struct ProbeTarget {
  enum class How : std::uint8_t { kHttp, kTcp, kExec };
  How how = How::kTcp;
  std::string host;
  std::uint16_t port = 0;
  std::string path;                                          // kHttp
  std::vector<std::pair<std::string, std::string>> headers;  // kHttp
  std::vector<std::string> command;                          // kExec
};

class ProbeState {
 public:
  ProbeState(ProbeKind kind, const Json& spec);

  ProbeKind kind() const { return kind_; }
  Duration initial_delay() const { return initial_delay_; }
  Duration period() const { return period_; }
  Duration timeout() const { return timeout_; }

  // Returns the new verdict if the result changes it, else nullopt. Containers begin as not ready,
  // not started, and alive. Every further failure of a liveness probe whose threshold is reached
  // counts as a change.
  std::optional<bool> Note(bool success);

 private:
  ProbeKind kind_;
  Duration initial_delay_;
  Duration period_;
  Duration timeout_;
  std::int64_t success_threshold_;
  std::int64_t failure_threshold_;
  bool last_ = false;
  std::int64_t in_a_row_ = 0;
  bool verdict_;
};

// The probes that the container declares, in the order of ProbeKind.
struct DeclaredProbe {
  ProbeState state;
  ProbeTarget target;
};
std::vector<DeclaredProbe> ProbesOf(const Json& container, const std::string& pod_address);

bool HasProbe(const Json& container, ProbeKind kind);

// The word of events: "Readiness".
std::string NameOf(ProbeKind kind);

}  // namespace berth::local::cluster
