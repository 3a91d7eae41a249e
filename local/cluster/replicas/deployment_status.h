// local/cluster/replicas/deployment_status.h — the counters and conditions of a Deployment.
//
// Pure. Source: Kubernetes deployment controller (progress.go, sync.go), restated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

// Sums over the ReplicaSets of a Deployment.
struct RolloutCounts {
  std::int64_t wanted = 0;  // spec.replicas
  std::int64_t replicas = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t terminating = 0;

  void Add(const Json& set, bool is_new);
  // All pods are of the present template and available, and no others exist.
  bool IsComplete(const Json& deployment) const;
  void WriteTo(Json& status, const Json& deployment) const;
};

// Each changes the conditions in `status`, the next status of `deployment`.
void NotePause(Json& status, const Json& deployment, bool paused, WallTime now);
void NoteFound(Json& status, const Json& deployment, const std::string& set, WallTime now);
void NoteCreated(Json& status, const Json& deployment, const std::string& set, WallTime now);
void NoteAvailability(Json& status, const Json& deployment, const RolloutCounts& counts,
                      WallTime now);
void NoteFailure(Json& status, const std::vector<Object>& sets, WallTime now);
// Returns the time at which the rollout is late; nullopt: it never is.
std::optional<WallTime> NoteProgress(Json& status, const Json& deployment,
                                     const RolloutCounts& counts, const std::string& set,
                                     WallTime now);

}  // namespace berth::local::cluster
