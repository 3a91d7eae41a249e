// local/apiserver/registry/object_updater.h — PUT, and the retry loop of every change of an
// existing object.
//
//   stored object → version of the request → change → metadata → managedFields
//                 → mutating admission → strategy: prepare, validate
//                 → rights, size, validating admission → commit
//
// A change that meets a newer state starts again from that state, five times at most. A change that
// changes nothing writes nothing. An object that is being deleted goes with its last finalizer.
//
// Threads: any; may block (webhooks, the disk).
// Errors: 404, 405, 409 Conflict, 400 and 422 for the object, and those of the stages.
// Source: k8s.io/apiserver registry/rest (update.go) and registry/generic, restated.
#pragma once

#include <functional>
#include <optional>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/crd_conversion.h"
#include "local/apiserver/registry/object_creator.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/rights_check.h"
#include "local/apiserver/registry/write_stages.h"

namespace berth::local {

class ObjectUpdater {
 public:
  ObjectUpdater(const WriteStages& stages, const Converter& converter, const RightsCheck& rights,
                ObjectCreator& creator)
      : stages_(stages), converter_(converter), rights_(rights), creator_(creator) {}

  ApiResult<WriteResult> Update(RequestContext& context, Body body);

  // Returns the next state of the object, in the version of the request. It is called again where
  // another client writes in between.
  using Change = std::function<ApiResult<Json>(const Json& current)>;
  ApiResult<WriteResult> Modify(RequestContext& context, const Change& change, Tracking tracking);

 private:
  // nullopt: another client wrote in between; retry on the newer state.
  std::optional<ApiResult<WriteResult>> ModifyOnce(RequestContext& context, const Change& change,
                                                   Tracking tracking);
  ApiResult<Json> Prepare(RequestContext& context, Json next, const Json& current,
                          Tracking tracking) const;
  std::optional<ApiResult<WriteResult>> Commit(const RequestContext& context,
                                               const StoredObject& stored, Json next);

  const WriteStages stages_;
  const Converter& converter_;
  const RightsCheck& rights_;
  ObjectCreator& creator_;
};

}  // namespace berth::local
