// local/cluster/replicas/revisions.h — ControllerRevisions: the pod templates that a StatefulSet or
// a DaemonSet has had, as `kubectl rollout history` and `undo` read them.
//
// Pure. Source: Kubernetes controller history, restated. The hash in a name is stable, but differs
// from upstream's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local::cluster {

// The label of pods that names their revision: its name (StatefulSet), or its hash (DaemonSet).
inline constexpr char kRevisionLabel[] = "controller-revision-hash";

// At most one of `create` and `change` is set; write it before pods get the revision's name.
struct RevisionChoice {
  Json present;                // the revision of the owner's present template
  std::optional<Json> create;  // `present`, if it does not exist yet
  std::optional<Json> change;  // an earlier revision that becomes the newest
};

// `revisions`: the revisions of the owner. `collisions`: status.collisionCount. `hash_label`: the
// label by which the kind finds the hash of a revision.
RevisionChoice ChooseRevision(const Json& owner, const std::vector<Object>& revisions,
                              std::int64_t collisions, const char* hash_label);

// The pod template that a revision keeps; null if it has none.
Json TemplateOf(const Json& revision);
std::string HashOf(const Json& revision, const char* hash_label);

// The revisions beyond `limit` that no pod has, oldest first. `live`: the names of revisions that
// must stay.
std::vector<Object> SurplusRevisions(const std::vector<Object>& revisions, std::int64_t limit,
                                     const std::set<std::string>& live);

}  // namespace berth::local::cluster
