// local/apiserver/registry/scale_subresource.h — the subresource scale: the replicas of any kind
// that has them, as an autoscaling/v1 Scale.
//
// Threads: any; may block (webhooks, the disk).
// Errors: 404 for a kind without scale, 422 for the replicas, and those of object_reader.h and
// object_updater.h.
// Source: Kubernetes API concepts; the paths of a custom kind are those of its CRD.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/registry/object_reader.h"
#include "local/apiserver/registry/object_updater.h"
#include "local/apiserver/registry/request.h"

namespace berth::local {

class ScaleSubresource {
 public:
  ScaleSubresource(const ObjectReader& reader, ObjectUpdater& updater)
      : reader_(reader), updater_(updater) {}

  ApiResult<Json> Get(const RequestContext& context) const;
  ApiResult<Json> Update(RequestContext& context, Body body);
  ApiResult<Json> Patch(RequestContext& context, PatchRequest patch);

 private:
  const ObjectReader& reader_;
  ObjectUpdater& updater_;
};

}  // namespace berth::local
