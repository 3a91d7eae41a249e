// local/cluster/objects/writer.h — writes of one controller, through the API's public pipeline;
// puts the answers into the cache.
//
// Threads: as ObjectCache; every call may block on the disk and on webhooks.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/objects/object_cache.h"

namespace berth::local::cluster {

class Writer {
 public:
  // `field_manager`: the owner of written fields in managedFields.
  Writer(Api& api, ObjectCache& cache, std::string field_manager);

  ApiResult<Object> Create(const ResourceId& resource, const std::string& namespace_name,
                           Json object);

  // Edits the cached object and writes it; after a conflict, edits the newest state again. `edit`
  // returns false if it makes no change; then nothing is written. `uid`: the uid of the intended
  // object; if the object has another uid, the error is NotFound.
  ApiResult<Object> Edit(const ResourceId& resource, const ObjectKey& key, const std::string& uid,
                         const std::string& subresource, const std::function<bool(Json&)>& edit);
  ApiResult<Object> EditStatus(const ResourceId& resource, const ObjectKey& key,
                               const std::string& uid, const std::function<bool(Json&)>& edit) {
    return Edit(resource, key, uid, "status", edit);
  }
  // Replaces the object by `object`; Conflict if its resourceVersion is stale.
  ApiResult<Object> Replace(const ResourceId& resource, const std::string& subresource,
                            const Json& object);

  // Returns OK if the object is gone already.
  Status Delete(const ResourceId& resource, const Json& object, DeleteOptions options = {});

  Api& api() { return api_; }

 private:
  Api& api_;
  ObjectCache& cache_;
  std::string field_manager_;
};

// The Error of `error`, for callers that return a Status or Result.
Error ToError(const ApiError& error);

}  // namespace berth::local::cluster
