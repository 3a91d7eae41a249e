#include "local/cluster/garbage/namespace_controller.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr Duration kNextRound = std::chrono::milliseconds(500);

std::string Listed(const std::map<std::string, std::int64_t>& counts, const char* pattern) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    parts.push_back(fmt::format(fmt::runtime(pattern), name, count));
  }
  return Join(parts, ", ");
}

}  // namespace

void SetNamespaceConditions(Json& status, const NamespaceRemains& remains, WallTime now) {
  SetCondition(status,
               {"NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered",
                "All resources successfully discovered"},
               now);
  SetCondition(status,
               {"NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
                "All legacy kube types successfully parsed"},
               now);
  ConditionValue content{"NamespaceDeletionContentFailure", "False", "ContentDeleted",
                         "All content successfully deleted, may be waiting on finalization"};
  if (!remains.failure.empty()) {
    content = {content.type, "True", "ContentDeletionFailed",
               "Failed to delete all resource types, " + remains.failure};
  }
  SetCondition(status, content, now);
  ConditionValue remaining{"NamespaceContentRemaining", "False", "ContentRemoved",
                           "All content successfully removed"};
  if (!remains.count_by_resource.empty()) {
    remaining = {remaining.type, "True", "SomeResourcesRemain",
                 "Some resources are remaining: " +
                     Listed(remains.count_by_resource, "{} has {} resource instances")};
  }
  SetCondition(status, remaining, now);
  ConditionValue finalizers{"NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers",
                            "All content-preserving finalizers finished"};
  if (!remains.count_by_finalizer.empty()) {
    finalizers = {finalizers.type, "True", "SomeFinalizersRemain",
                  "Some content in the namespace has finalizers remaining: " +
                      Listed(remains.count_by_finalizer, "{} in {} resource instances")};
  }
  SetCondition(status, finalizers, now);
}

NamespaceController::NamespaceController(WholeApi& api, ObjectCache& cache, Executor& executor,
                                         const Clock& clock)
    : api_(api),
      cache_(cache),
      clock_(clock),
      writer_(api, cache, "kube-controller-manager"),
      namespaces_(
          executor, "namespace", [this](const ObjectKey& key) { return Look(key); },
          LookOptions(clock)) {
  cache_.Listen(kNamespaces, [this](const ObjectChange& change) {
    if (change.current != nullptr && IsDeleting(*change.current)) {
      namespaces_.Add(KeyOf(*change.current));
    }
  });
}

void NamespaceController::Start() {
  for (const Object& object : cache_.All(kNamespaces)) {
    if (IsDeleting(*object)) namespaces_.Add(KeyOf(*object));
  }
  namespaces_.Start();
}

Result<NextLook> NamespaceController::Look(const ObjectKey& key) {
  const Object object = cache_.Get(kNamespaces, key);
  if (object == nullptr || !IsDeleting(*object)) return NextLook{};
  BERTH_TRY(const NamespaceRemains remains, Empty(key.name));
  const auto written = writer_.EditStatus(kNamespaces, key, UidOf(*object), [&](Json& one) {
    one["status"]["phase"] = "Terminating";
    SetNamespaceConditions(one["status"], remains, clock_.Now());
    return true;
  });
  if (!written && written.error().reason != "NotFound") return ToError(written.error());
  if (!remains.count_by_resource.empty()) return NextLook{kNextRound};
  const auto finalized = writer_.Edit(kNamespaces, key, UidOf(*object), "finalize", [](Json& one) {
    if (ArrayAt(one, {"spec", "finalizers"}).empty()) return false;
    one["spec"]["finalizers"] = Json::array();
    return true;
  });
  if (!finalized && finalized.error().reason != "NotFound") return ToError(finalized.error());
  return NextLook{};
}

// Programs that run may need what else is in the namespace, its NetworkPolicies say: pods go first.
Result<NamespaceRemains> NamespaceController::Empty(const std::string& namespace_name) {
  NamespaceRemains remains;
  BERTH_CHECK_OK(EmptyOf(kPods, namespace_name, remains));
  if (!remains.count_by_resource.empty()) return remains;
  for (const WholeApi::KindInfo& kind : api_.Kinds()) {
    if (kind.namespaced) BERTH_CHECK_OK(EmptyOf(kind.id, namespace_name, remains));
  }
  return remains;
}

Status NamespaceController::EmptyOf(const ResourceId& kind, const std::string& namespace_name,
                                    NamespaceRemains& remains) {
  const std::string name = kind.group.empty() ? kind.resource : kind.resource + "." + kind.group;
  const auto list = api_.List(kind, namespace_name, {});
  if (!list) return ToError(list.error());
  for (const Object& object : list->items) {
    if (!IsDeleting(*object)) {
      DeleteOptions options;
      options.propagation_policy = "Background";
      const Status deleted = writer_.Delete(kind, *object, options);
      if (!deleted && remains.failure.empty()) remains.failure = deleted.error().message;
    }
    const auto left = api_.Get(kind, namespace_name, NameOf(*object));
    if (!left) continue;
    ++remains.count_by_resource[name];
    for (const Json& finalizer : ArrayAt(**left, {"metadata", "finalizers"})) {
      ++remains.count_by_finalizer[StringAt(finalizer, {})];
    }
  }
  return OkStatus();
}

}  // namespace berth::local::cluster
