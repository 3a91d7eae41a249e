// local/cluster/writer.h — writes of one controller: through the public pipeline of the API, with
// the answer put into the cache.
//
// Threads: as ObjectCache; every call may block on the disk and on webhooks.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "local/apiserver/api.h"
#include "local/cluster/object_cache.h"

namespace berth::local::cluster {

class Writer {
 public:
  // `field_manager` owns what is written here in managedFields.
  Writer(Api& api, ObjectCache& cache, std::string field_manager);

  ApiResult<Object> Create(const ResourceId& resource, const std::string& namespace_name,
                           Json object);

  // Reads, edits, writes; starts from the cache, and again from the newest state on a conflict.
  // `edit` returns false to leave the object as it is. Nothing is written when it changed nothing.
  // Preconditions: `uid` is the life that is meant; another one answers NotFound.
  ApiResult<Object> Edit(const ResourceId& resource, const ObjectKey& key, const std::string& uid,
                         const std::string& subresource, const std::function<bool(Json&)>& edit);
  ApiResult<Object> EditStatus(const ResourceId& resource, const ObjectKey& key,
                               const std::string& uid, const std::function<bool(Json&)>& edit) {
    return Edit(resource, key, uid, "status", edit);
  }
  // Writes `object` as it is; Conflict if its resourceVersion is stale.
  ApiResult<Object> Replace(const ResourceId& resource, const std::string& subresource,
                            const Json& object);

  // Gone already counts as done.
  Status Delete(const ResourceId& resource, const Json& object, DeleteOptions options = {});

  Api& api() { return api_; }

 private:
  Api& api_;
  ObjectCache& cache_;
  std::string field_manager_;
};

// What a caller of ours can do about it.
Error ToError(const ApiError& error);

}  // namespace berth::local::cluster
