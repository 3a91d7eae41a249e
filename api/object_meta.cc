#include "api/object_meta.h"

#include <algorithm>

namespace berth::api {
namespace {

bool MatchesRequirement(const LabelSelectorRequirement& requirement, const StringMap& labels) {
  const std::string* value = FindValue(labels, requirement.key);
  if (requirement.op == "Exists") return value != nullptr;
  if (requirement.op == "DoesNotExist") return value == nullptr;
  const auto& values = requirement.values;
  const bool listed =
      value != nullptr && std::find(values.begin(), values.end(), *value) != values.end();
  if (requirement.op == "In") return listed;
  if (requirement.op == "NotIn") return !listed;
  return false;
}

}  // namespace

const std::string* FindValue(const StringMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

const OwnerReference* ControllerOf(const ObjectMeta& meta) {
  for (const OwnerReference& owner : meta.owner_references) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

bool HasFinalizer(const ObjectMeta& meta, const std::string& finalizer) {
  return std::find(meta.finalizers.begin(), meta.finalizers.end(), finalizer) !=
         meta.finalizers.end();
}

bool LabelSelector::Matches(const StringMap& labels) const {
  for (const auto& [key, wanted] : match_labels) {
    const std::string* value = FindValue(labels, key);
    if (value == nullptr || *value != wanted) return false;
  }
  return std::all_of(
      match_expressions.begin(), match_expressions.end(),
      [&](const LabelSelectorRequirement& r) { return MatchesRequirement(r, labels); });
}

}  // namespace berth::api
