#include "local/cluster/objects/writer.h"

namespace berth::local::cluster {
namespace {

constexpr int kMostAttempts = 8;

ApiError OtherLife(const ResourceId& resource, const ObjectKey& key) {
  return {404, "NotFound", resource.resource + " \"" + key.name + "\" not found", nullptr};
}

}  // namespace

Writer::Writer(Api& api, ObjectCache& cache, std::string field_manager)
    : api_(api), cache_(cache), field_manager_(std::move(field_manager)) {}

ApiResult<Object> Writer::Create(const ResourceId& resource, const std::string& namespace_name,
                                 Json object) {
  WriteOptions options;
  options.field_manager = field_manager_;
  auto created = api_.Create(resource, namespace_name, std::move(object), options);
  if (created) cache_.Put(resource, *created);
  return created;
}

ApiResult<Object> Writer::Replace(const ResourceId& resource, const std::string& subresource,
                                  const Json& object) {
  WriteOptions options;
  options.field_manager = field_manager_;
  options.subresource = subresource;
  const ObjectKey key = KeyOf(object);
  auto written = api_.Update(resource, key.namespace_name, key.name, object, options);
  if (!written) return written;
  // An update that removes the last finalizer of a deleted object deletes it.
  const Json& left = **written;
  if (IsDeleting(left) && ArrayAt(left, {"metadata", "finalizers"}).empty() &&
      !api_.Get(resource, key.namespace_name, key.name)) {
    cache_.Remove(resource, key, UidOf(left));
  } else {
    cache_.Put(resource, *written);
  }
  return written;
}

ApiResult<Object> Writer::Edit(const ResourceId& resource, const ObjectKey& key,
                               const std::string& uid, const std::string& subresource,
                               const std::function<bool(Json&)>& edit) {
  Object current = cache_.Get(resource, key);
  for (int attempt = 1;; ++attempt) {
    if (current == nullptr || attempt > 1) {
      auto read = api_.Get(resource, key.namespace_name, key.name);
      if (!read) return read;
      current = *read;
      cache_.Put(resource, current);
    }
    if (UidOf(*current) != uid) return OtherLife(resource, key);
    Json edited = *current;
    if (!edit(edited) || edited == *current) return current;
    auto written = Replace(resource, subresource, edited);
    if (written || written.error().reason != "Conflict" || attempt == kMostAttempts) return written;
  }
}

Status Writer::Delete(const ResourceId& resource, const Json& object, DeleteOptions options) {
  const ObjectKey key = KeyOf(object);
  const std::string uid = UidOf(object);
  options.precondition_uid = uid;
  auto deleted = api_.Delete(resource, key.namespace_name, key.name, options);
  if (!deleted && deleted.error().reason != "NotFound" && deleted.error().reason != "Conflict") {
    return ToError(deleted.error());
  }
  auto left = api_.Get(resource, key.namespace_name, key.name);
  if (left) {
    if (UidOf(**left) != uid) cache_.Remove(resource, key, uid);
    cache_.Put(resource, *left);
  } else if (left.error().reason == "NotFound") {
    cache_.Remove(resource, key, uid);
  }
  return OkStatus();
}

Error ToError(const ApiError& error) {
  const std::string& reason = error.reason;
  ErrorCode code = ErrorCode::kInternal;
  if (reason == "NotFound") code = ErrorCode::kNotFound;
  if (reason == "AlreadyExists") code = ErrorCode::kAlreadyExists;
  if (reason == "Conflict") code = ErrorCode::kConflict;
  if (reason == "Invalid" || reason == "BadRequest") code = ErrorCode::kInvalid;
  if (reason == "Forbidden" || reason == "Unauthorized") code = ErrorCode::kForbidden;
  if (reason == "ServiceUnavailable") code = ErrorCode::kUnavailable;
  if (reason == "Timeout") code = ErrorCode::kDeadlineExceeded;
  if (reason == "TooManyRequests") code = ErrorCode::kTooManyRequests;
  return Error{code, error.message};
}

}  // namespace berth::local::cluster
