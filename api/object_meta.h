// api/object_meta.h — metadata of every Kubernetes object, and label selectors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/shared_list.h"

namespace berth::api {

using StringMap = std::map<std::string, std::string>;

// Identifies an object: namespace and name. Cluster-scoped objects have no namespace.
struct ObjectKey {
  std::string namespace_name;
  std::string name;
  friend auto operator<=>(const ObjectKey&, const ObjectKey&) = default;

  std::string ToString() const {
    return namespace_name.empty() ? name : namespace_name + "/" + name;
  }
};

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

struct ObjectMeta {
  std::string namespace_name;
  std::string name;
  std::string uid;  // identifies one object's life; empty on an object that is not created yet
  std::string resource_version;  // opaque
  std::int64_t generation = 0;
  WallTime creation_timestamp{};
  std::optional<WallTime> deletion_timestamp;
  StringMap labels;
  StringMap annotations;
  SharedList<std::string> finalizers;
  std::vector<OwnerReference> owner_references;
  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;

  ObjectKey key() const { return {namespace_name, name}; }
};

// The value of `key`, or null.
const std::string* FindValue(const StringMap& map, const std::string& key);
// The owner with controller: true, or null.
const OwnerReference* ControllerOf(const ObjectMeta& meta);
bool HasFinalizer(const ObjectMeta& meta, const std::string& finalizer);

struct LabelSelectorRequirement {
  std::string key;
  std::string op;  // In, NotIn, Exists, DoesNotExist
  std::vector<std::string> values;
  friend bool operator==(const LabelSelectorRequirement&,
                         const LabelSelectorRequirement&) = default;
};

// metav1.LabelSelector. An empty selector matches everything; each caller treats an absent selector
// as one that matches nothing.
struct LabelSelector {
  StringMap match_labels;
  std::vector<LabelSelectorRequirement> match_expressions;
  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;

  bool Matches(const StringMap& labels) const;
};

}  // namespace berth::api
