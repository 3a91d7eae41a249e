// local/apiserver/registry/object_patcher.h — PATCH: JSON, merge and strategic merge patches, and
// server-side apply.
//
// Threads: any; may block (webhooks, the disk).
// Errors: 405, 415 for a patch type that the kind lacks, 409 Conflict of an apply with its causes,
// and those of object_updater.h and object_creator.h.
// Source: k8s.io/apiserver endpoints/handlers (patch.go), restated.
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/registry/object_creator.h"
#include "local/apiserver/registry/object_updater.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/rights_check.h"
#include "local/apiserver/registry/write_stages.h"

namespace berth::local {

class ObjectPatcher {
 public:
  ObjectPatcher(const WriteStages& stages, const RightsCheck& rights, ObjectCreator& creator,
                ObjectUpdater& updater)
      : stages_(stages), rights_(rights), creator_(creator), updater_(updater) {}

  ApiResult<WriteResult> Patch(RequestContext& context, PatchRequest patch);

 private:
  ApiResult<WriteResult> Apply(RequestContext& context, Body body, bool force);
  ApiResult<WriteResult> CreateByApply(RequestContext& context, const Json& config,
                                       const ManagerContext& manager, ConflictPolicy policy);

  const WriteStages stages_;
  const RightsCheck& rights_;
  ObjectCreator& creator_;
  ObjectUpdater& updater_;
};

}  // namespace berth::local
