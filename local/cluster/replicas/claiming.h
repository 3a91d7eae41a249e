// local/cluster/replicas/claiming.h — writes that the controllers of apps/v1 share: owners of
// objects, and ControllerRevisions.
//
// Threads: as ObjectCache.
#pragma once

#include <optional>

#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {

// An object that is gone needs no write.
template <typename Written>
Status Settled(const Written& written) {
  if (written || written.error().reason == "NotFound") return OkStatus();
  return ToError(written.error());
}

Status WriteOwners(Writer& writer, const ResourceId& resource, const Json& object,
                   const Json& owners);

// Performs a RevisionChoice (revisions.h). kConflict: an object of the new revision's name exists;
// the owner's status.collisionCount makes another name at the next look.
Status WriteRevision(Writer& writer, const ResourceId& owners, const Json& owner,
                     const std::optional<Json>& create, const std::optional<Json>& change);

}  // namespace berth::local::cluster
