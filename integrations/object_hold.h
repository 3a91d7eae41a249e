// integrations/object_hold.h — what holds the objects of a described kind, one of:
//
//     by suspend    a boolean of the object is true
//     by replicas   the numbers of pods of the object are 0; the annotation berth.dev/held-replicas
//                   keeps the numbers that its owner wants
//     by pods       an annotation of the object, which its operator copies to the pods; the review
//                   of the pods gates them (PodHold)
//     by parent     nothing of the object; its pods are groups (PodsRule)
//
// Threads: immutable; any. Errors: kInvalid with the field of the object.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace berth::integrations {

// "spec.replicatedJobs" as its keys.
using FieldPath = std::vector<std::string>;

class ObjectHold {
 public:
  virtual ~ObjectHold() = default;

  // Whether the fields that hold an object are of their types.
  virtual Status Check(const nlohmann::json& object) const = 0;
  virtual bool IsHeld(const nlohmann::json& object) const = 0;
  virtual void Hold(nlohmann::json& object) const = 0;
  virtual void Release(nlohmann::json& object) const = 0;

  // The object in the form that expressions read, whether it is held or not; nullopt: its own form.
  virtual std::optional<nlohmann::json> Wanted(const nlohmann::json& object) const;

  // Whether users change the size of a held object through the field that holds it.
  virtual bool has_size() const { return false; }
  // Whether, where has_size is true, a write has given a held object another size, with which it
  // runs.
  virtual bool IsLoose(const nlohmann::json& object) const;
};

// The object as expressions read it. `object` must outlive the WantedObject.
class WantedObject {
 public:
  WantedObject(const ObjectHold& hold, const nlohmann::json& object)
      : object_(&object), wanted_(hold.Wanted(object)) {}
  const nlohmann::json& operator*() const { return wanted_ ? *wanted_ : *object_; }

 private:
  const nlohmann::json* object_;
  const std::optional<nlohmann::json> wanted_;
};

using ObjectHoldPtr = std::shared_ptr<const ObjectHold>;

// The numbers of one pod set rule: `path` in the object or, with `each`, in each element of the
// list, or in the members `keys` of the map.
struct ReplicasField {
  FieldPath each;
  std::vector<std::string> keys;
  FieldPath path;
};

ObjectHoldPtr HoldBySuspend(FieldPath path);
// A number whose parent the object lacks does not count. An absent number is held, too; the release
// makes it absent again.
ObjectHoldPtr HoldByReplicas(std::vector<ReplicasField> fields);
ObjectHoldPtr HoldByPods(std::string framework);
ObjectHoldPtr HoldByParent();

}  // namespace berth::integrations
