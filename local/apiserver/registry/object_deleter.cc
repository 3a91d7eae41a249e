#include "local/apiserver/registry/object_deleter.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "base/rfc3339.h"
#include "base/seconds.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/strategy.h"

namespace berth::local {
namespace {

constexpr int kDeleteTries = 5;
constexpr const char* kOrphan = "orphan";
constexpr const char* kForeground = "foregroundDeletion";
constexpr const char* kCrdCleanup = "customresourcecleanup.apiextensions.k8s.io";

using Operation = AdmissionRequest::Operation;

std::optional<ApiError> CheckPolicy(const DeleteOptions& options) {
  const std::string& policy = options.propagation_policy;
  if (policy.empty() || policy == "Background" || policy == "Foreground" || policy == "Orphan") {
    return std::nullopt;
  }
  return InvalidStatus("meta.k8s.io", "DeleteOptions", "",
                       {NotSupportedError("propagationPolicy", policy,
                                          {"Foreground", "Background", "Orphan", "nil"})});
}

std::optional<ApiError> CheckPreconditions(const RequestContext& context,
                                           const DeleteOptions& options, const Json& object) {
  const auto failed = [&](const std::string& what, const std::string& wanted,
                          const std::string& actual) {
    return ConflictStatus(context.resource->id, context.name,
                          "Precondition failed: " + what + " in precondition: " + wanted + ", " +
                              what + " in object meta: " + actual);
  };
  const std::string uid = UidOf(object);
  if (!options.precondition_uid.empty() && options.precondition_uid != uid) {
    return failed("UID", options.precondition_uid, uid);
  }
  const std::string revision = TextAt(object, {"metadata", "resourceVersion"});
  if (!options.precondition_resource_version.empty() &&
      options.precondition_resource_version != revision) {
    return failed("ResourceVersion", options.precondition_resource_version, revision);
  }
  return std::nullopt;
}

bool HasFinalizer(const Json& object, const char* finalizer) {
  for (const Json& known : ArrayAt(object, {"metadata", "finalizers"})) {
    if (known == finalizer) return true;
  }
  return false;
}

void SetFinalizer(Json& object, const char* finalizer, bool wanted) {
  Json kept = Json::array();
  for (const Json& known : ArrayAt(object, {"metadata", "finalizers"})) {
    if (known != finalizer) kept.push_back(known);
  }
  if (wanted) kept.push_back(finalizer);
  if (kept.empty()) {
    object["metadata"].erase("finalizers");
  } else {
    object["metadata"]["finalizers"] = std::move(kept);
  }
}

// Sets the finalizers by which the garbage collector orphans dependents, or deletes them first.
void SetPropagation(Json& object, std::string_view policy) {
  if (policy.empty()) return;
  SetFinalizer(object, kOrphan, policy == "Orphan");
  SetFinalizer(object, kForeground, policy == "Foreground");
}

constexpr std::int64_t kLongestGrace = 100LL * 365 * 24 * 3600;  // seconds of a deletion

// Marks `object` as being deleted; a repeated deletion can only shorten the grace period.
void MarkDeleted(Json& object, std::int64_t grace_seconds, WallTime now) {
  Json& metadata = object["metadata"];
  const bool again = IsBeingDeleted(object);
  const std::int64_t known = IntAt(metadata, {"deletionGracePeriodSeconds"}, 0);
  if (again && grace_seconds >= known) return;
  metadata["deletionTimestamp"] = FormatTime(now + BoundedSeconds(grace_seconds));
  metadata["deletionGracePeriodSeconds"] = grace_seconds;
  if (!again && metadata.contains("generation")) {
    metadata["generation"] = IntAt(metadata, {"generation"}, 0) + 1;
  }
}

}  // namespace

ApiResult<DeleteResult> ObjectDeleter::Delete(RequestContext& context,
                                              const DeleteOptions& options) {
  if (!context.resource->Allows('d')) return MethodNotAllowedStatus(context.resource->id, "delete");
  if (auto error = CheckPolicy(options)) return *error;
  for (int attempt = 0; attempt < kDeleteTries; ++attempt) {
    if (auto result = DeleteOnce(context, options)) return *std::move(result);
  }
  return StaleStatus(context.resource->id, context.name);
}

std::optional<ApiResult<DeleteResult>> ObjectDeleter::DeleteOnce(RequestContext& context,
                                                                 const DeleteOptions& options) {
  const ResourceInfo& resource = *context.resource;
  const StoredPtr stored = stages_.store.GetLatest(context.key());
  const Object current = stored == nullptr ? nullptr : stored->json();
  if (current == nullptr) return stages_.committer.Missing(context);
  if (auto error = CheckPreconditions(context, options, *current)) return *error;
  const AdmissionRequest request =
      MakeAdmissionRequest(context, Operation::kDelete, nullptr, current.get());
  if (auto error = stages_.review.ValidateDeletion(request)) return *error;

  const Strategy& strategy = StrategyOf(resource);
  if (auto causes = strategy.RefuseDeletion(*current); !causes.empty()) {
    return ForbiddenStatus(resource.id, context.name, causes);
  }
  Json next = *current;
  std::string policy = options.propagation_policy;
  if (policy.empty() && strategy.OrphansByDefault()) {
    policy = "Orphan";
    context.warnings.push_back(
        "child pods are preserved by default when jobs are deleted; set "
        "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
        "this warning");
  }
  SetPropagation(next, policy);
  if (resource.storage == kCrdStorage && !IsBeingDeleted(next))
    SetFinalizer(next, kCrdCleanup, true);
  const std::int64_t grace =
      std::min(strategy.GraceSeconds(*current, options.grace_period_seconds), kLongestGrace);
  MarkDeleted(next, grace, stages_.clock.Now());
  strategy.PrepareForDeletion(next);
  const std::int64_t left = IntAt(next, {"metadata", "deletionGracePeriodSeconds"}, 0);
  const bool gone =
      left == 0 && ArrayAt(next, {"metadata", "finalizers"}).empty() && strategy.MayVanish(next);
  DeleteResult result;
  result.gone = gone;
  const bool changes_nothing = !gone && next == *current;
  if (changes_nothing) {
    const Status durable = stages_.committer.WaitForDisk(context.key());
    if (!durable) return StoreRefusal(durable.error(), context);
  }
  if (context.dry_run || changes_nothing) {
    result.object = std::make_shared<const Json>(std::move(next));
    return ApiResult<DeleteResult>(std::move(result));
  }
  auto done = stages_.committer.CommitDeletion(context, std::move(next), stored->revision(), gone);
  if (!done) {
    if (done.error().code == ErrorCode::kConflict) return std::nullopt;
    return StoreRefusal(done.error(), context);
  }
  result.object = std::move(*done);
  if (resource.storage == kCrdStorage && !gone) {
    DeleteInstances(context, *result.object);
    FinishCrdDeletion(context.name);
  }
  return ApiResult<DeleteResult>(std::move(result));
}

ApiResult<std::vector<Object>> ObjectDeleter::DeleteCollection(RequestContext& context,
                                                               const ReadQuery& query,
                                                               const DeleteOptions& options) {
  if (!context.resource->Allows('D')) {
    return MethodNotAllowedStatus(context.resource->id, "deletecollection");
  }
  if (auto error = CheckPolicy(options)) return *error;
  std::vector<Object> deleted;
  const WatchCache::Snapshot snapshot =
      stages_.store.cache().List(context.resource->storage, context.namespace_name);
  for (const StoredPtr& stored : snapshot.objects) {
    if (auto error = CheckCancellation()) return *error;
    if (!MatchesQuery(*stored, query.labels, query.fields)) continue;
    RequestContext one = context;
    one.namespace_name = stored->key().namespace_name;
    one.name = stored->key().name;
    auto done = Delete(one, options);
    context.warnings = std::move(one.warnings);
    if (done) {
      deleted.push_back(done->object);
    } else if (done.error().reason != "NotFound") {
      return done.error();
    }
  }
  return deleted;
}

void ObjectDeleter::DeleteInstances(RequestContext& context, const Json& crd) {
  const std::string storage =
      TextAt(crd, {"spec", "names", "plural"}) + "." + TextAt(crd, {"spec", "group"});
  const ResourcePtr instances = catalog_.Current()->FindStored(storage);
  if (instances == nullptr) return;
  RequestContext one = context;
  one.table = catalog_.Current();
  one.resource = instances;
  one.namespace_name.clear();
  one.name.clear();
  DeleteOptions options;
  options.propagation_policy = "Background";
  // Instances with finalizers keep the CRD; the last finalizer's end deletes it.
  if (auto done = DeleteCollection(one, {}, options); !done) {
    context.warnings.push_back("some instances could not be deleted yet: " + done.error().message);
  }
}

void ObjectDeleter::FinishCrdDeletion(const std::string& crd_name) {
  RequestContext context;
  context.table = catalog_.Current();
  context.resource =
      context.table->Find({"apiextensions.k8s.io", "v1", "customresourcedefinitions"});
  context.name = crd_name;
  const StoredPtr stored = stages_.store.GetLatest(context.key());
  const Object crd = stored == nullptr ? nullptr : stored->json();
  if (crd == nullptr || !IsBeingDeleted(*crd) || !HasFinalizer(*crd, kCrdCleanup)) return;
  const std::string storage =
      TextAt(*crd, {"spec", "names", "plural"}) + "." + TextAt(*crd, {"spec", "group"});
  if (!stages_.store.cache().List(storage, "").objects.empty()) return;
  const ObjectUpdater::Change without_finalizer = [](const Json& current) -> ApiResult<Json> {
    Json next = current;
    SetFinalizer(next, kCrdCleanup, false);
    return next;
  };
  // After a failure the finalizer stays; the next deletion of an instance, or of the CRD, retries.
  if (auto done = updater_.Modify(context, without_finalizer, Tracking::kDone); !done) return;
}

}  // namespace berth::local
