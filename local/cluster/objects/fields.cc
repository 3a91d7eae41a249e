#include "local/cluster/objects/fields.h"

#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::local::cluster {

const Json* Find(const Json& object, Path path) {
  const Json* at = &object;
  for (const std::string_view step : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(step);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at->is_null() ? nullptr : at;
}

std::string StringAt(const Json& object, Path path, std::string_view fallback) {
  const Json* found = Find(object, path);
  if (found == nullptr || !found->is_string()) return std::string(fallback);
  return found->get<std::string>();
}

std::optional<std::int64_t> OptionalIntAt(const Json& object, Path path) {
  const Json* found = Find(object, path);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  const bool too_large = found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX;
  return too_large ? INT64_MAX : found->get<std::int64_t>();
}

std::int64_t IntAt(const Json& object, Path path, std::int64_t fallback) {
  return OptionalIntAt(object, path).value_or(fallback);
}

bool BoolAt(const Json& object, Path path) {
  const Json* found = Find(object, path);
  return found != nullptr && found->is_boolean() && found->get<bool>();
}

std::optional<WallTime> TimeAt(const Json& object, Path path) {
  const Json* found = Find(object, path);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return ParseTime(found->get_ref<const std::string&>());
}

const Json& ArrayAt(const Json& object, Path path) {
  static const Json kEmpty = Json::array();
  const Json* found = Find(object, path);
  return found != nullptr && found->is_array() ? *found : kEmpty;
}

ObjectKey KeyOf(const Json& object) { return {NamespaceOf(object), NameOf(object)}; }
std::string NameOf(const Json& object) { return StringAt(object, {"metadata", "name"}); }
std::string NamespaceOf(const Json& object) { return StringAt(object, {"metadata", "namespace"}); }
std::string UidOf(const Json& object) { return StringAt(object, {"metadata", "uid"}); }

std::string OwnerKeyOf(const Json& owner) { return NamespaceOf(owner) + "/" + UidOf(owner); }

std::vector<std::string> ControllerKeysOf(const Json& object) {
  const Json* owner = ControllerRef(object);
  if (owner == nullptr) return {};
  return {NamespaceOf(object) + "/" + StringAt(*owner, {"uid"})};
}

std::int64_t ResourceVersionOf(const Json& object) {
  return ParseInt64(StringAt(object, {"metadata", "resourceVersion"})).value_or(0);
}

std::string LabelOf(const Json& object, std::string_view key) {
  return StringAt(object, {"metadata", "labels", key});
}

std::string AnnotationOf(const Json& object, std::string_view key) {
  return StringAt(object, {"metadata", "annotations", key});
}

bool HasAnnotation(const Json& object, std::string_view key) {
  return Find(object, {"metadata", "annotations", key}) != nullptr;
}

bool IsDeleting(const Json& object) {
  return Find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

bool HasEnded(const Json& pod) {
  const std::string phase = StringAt(pod, {"status", "phase"});
  return phase == "Succeeded" || phase == "Failed";
}

bool HasFinalizer(const Json& object, std::string_view finalizer) {
  for (const Json& one : ArrayAt(object, {"metadata", "finalizers"})) {
    if (StringAt(one, {}) == finalizer) return true;
  }
  return false;
}

bool RemoveFinalizer(Json& object, std::string_view finalizer) {
  if (!HasFinalizer(object, finalizer)) return false;
  Json kept = Json::array();
  for (const Json& one : object["metadata"]["finalizers"]) {
    if (StringAt(one, {}) != finalizer) kept.push_back(one);
  }
  object["metadata"]["finalizers"] = std::move(kept);
  return true;
}

const Json* ControllerRef(const Json& object) {
  for (const Json& owner : ArrayAt(object, {"metadata", "ownerReferences"})) {
    if (BoolAt(owner, {"controller"})) return &owner;
  }
  return nullptr;
}

void SetCount(Json& status, const char* name, std::int64_t count) {
  if (count == 0) {
    status.erase(name);
  } else {
    status[name] = count;
  }
}

const Json* FindCondition(const Json& object, std::string_view type) {
  for (const Json& condition : ArrayAt(object, {"status", "conditions"})) {
    if (StringAt(condition, {"type"}) == type) return &condition;
  }
  return nullptr;
}

bool ConditionIs(const Json& object, std::string_view type, std::string_view status) {
  const Json* condition = FindCondition(object, type);
  return condition != nullptr && StringAt(*condition, {"status"}) == status;
}

bool SetCondition(Json& status, const ConditionValue& value, WallTime now, TransitionRule rule) {
  Json& conditions = status["conditions"];
  if (!conditions.is_array()) conditions = Json::array();
  for (Json& condition : conditions) {
    if (StringAt(condition, {"type"}) != value.type) continue;
    const bool status_moves = StringAt(condition, {"status"}) != value.status;
    const bool text_moves = StringAt(condition, {"reason"}) != value.reason ||
                            StringAt(condition, {"message"}) != value.message;
    if (!status_moves && !text_moves) return false;
    condition["status"] = value.status;
    condition["reason"] = value.reason;
    condition["message"] = value.message;
    if (status_moves || rule == TransitionRule::kOnAnyChange) {
      condition["lastTransitionTime"] = FormatTime(now);
    }
    return true;
  }
  conditions.push_back({{"type", value.type},
                        {"status", value.status},
                        {"reason", value.reason},
                        {"message", value.message},
                        {"lastTransitionTime", FormatTime(now)}});
  return true;
}

}  // namespace berth::local::cluster
