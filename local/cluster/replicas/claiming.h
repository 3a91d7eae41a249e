// local/cluster/replicas/claiming.h — writes that the controllers of apps/v1 share: owners of
// objects, and ControllerRevisions.
//
// Threads: as ObjectCache.
#pragma once

#include <optional>

#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

// The result of a write as a Status; NotFound counts as success, since an object that is gone needs
// no write.
template <typename Written>
Status Settled(const Written& written) {
  if (written || written.error().reason == "NotFound") return OkStatus();
  return ToError(written.error());
}

Status WriteOwners(Writer& writer, const ResourceId& resource, const Json& object,
                   const Json& owners);

// Performs a RevisionChoice (revisions.h). kConflict: an object with the new revision's name
// exists. At the next reconcile the owner's status.collisionCount gives the revision another name.
Status WriteRevision(Writer& writer, const ResourceId& owners, const Json& owner,
                     const std::optional<Json>& create, const std::optional<Json>& change);

}  // namespace berth::local::cluster
