// local/cluster/objects/fields.h — reads fields of Kubernetes objects that are plain JSON.
//
// Every reader returns a default where the field is absent, null or of another type: the API server
// has validated the object, and no object may crash a controller.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "api/object_meta.h"
#include "base/clock.h"
#include "local/apiserver/api.h"

namespace berth::local::cluster {

using Path = std::initializer_list<std::string_view>;

using berth::api::ObjectKey;

const Json* Find(const Json& object, Path path);  // null if absent or null
std::string StringAt(const Json& object, Path path, std::string_view fallback = "");
std::int64_t IntAt(const Json& object, Path path, std::int64_t fallback = 0);
std::optional<std::int64_t> OptionalIntAt(const Json& object, Path path);
bool BoolAt(const Json& object, Path path);  // false if absent
std::optional<WallTime> TimeAt(const Json& object, Path path);
const Json& ArrayAt(const Json& object, Path path);  // an empty array if absent

ObjectKey KeyOf(const Json& object);
std::string NameOf(const Json& object);
std::string NamespaceOf(const Json& object);
std::string UidOf(const Json& object);
// Namespace and UID: the value of an index by controller. A reference of another namespace may name
// any UID, and does not count.
std::string OwnerKeyOf(const Json& owner);
std::vector<std::string> ControllerKeysOf(const Json& object);  // none without a controller
std::int64_t ResourceVersionOf(const Json& object);  // a number in the embedded store; 0: absent
std::string LabelOf(const Json& object, std::string_view key);
std::string AnnotationOf(const Json& object, std::string_view key);
bool HasAnnotation(const Json& object, std::string_view key);
bool IsDeleting(const Json& object);
bool HasEnded(const Json& pod);  // its phase is Succeeded or Failed
bool HasFinalizer(const Json& object, std::string_view finalizer);
bool RemoveFinalizer(Json& object, std::string_view finalizer);  // true: it was present
const Json* ControllerRef(const Json& object);  // the ownerReference with controller: true

// Writes a counter of a status, in which Go omits zero.
void SetCount(Json& status, const char* name, std::int64_t count);

const Json* FindCondition(const Json& object, std::string_view type);  // in status.conditions
bool ConditionIs(const Json& object, std::string_view type, std::string_view status);

struct ConditionValue {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
};
enum class TransitionRule {
  kOnStatus,     // lastTransitionTime changes with the status (most of Kubernetes)
  kOnAnyChange,  // it also changes with reason or message (GKE's queued provisioning)
};
// Adds or updates one entry of status["conditions"]; returns whether any field changed.
bool SetCondition(Json& status, const ConditionValue& value, WallTime now,
                  TransitionRule rule = TransitionRule::kOnStatus);

}  // namespace berth::local::cluster
