#include "local/cluster/replicas/revisions.h"

#include <algorithm>
#include <tuple>

#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/deployment_plan.h"
#include "local/cluster/replicas/ownership.h"

namespace berth::local::cluster {
namespace {

std::int64_t NumberOf(const Json& revision) { return IntAt(revision, {"revision"}); }

// A strategic merge patch, which `kubectl rollout undo` sends as it is.
Json DataOf(const Json& owner) {
  const Json* found = Find(owner, {"spec", "template"});
  Json pod_template = found == nullptr ? Json::object() : *found;
  pod_template["$patch"] = "replace";
  return {{"spec", {{"template", std::move(pod_template)}}}};
}

Json NewRevision(const Json& owner, Json data, std::int64_t number, std::int64_t collisions,
                 const char* hash_label) {
  const std::string hash = PodTemplateHash(data["spec"]["template"], collisions);
  Json metadata = {{"name", NameOf(owner) + "-" + hash},
                   {"namespace", NamespaceOf(owner)},
                   {"labels", Json::object()},
                   {"ownerReferences", Json::array({ControllerReferenceTo(owner)})}};
  const Json* labels = Find(owner, {"spec", "template", "metadata", "labels"});
  if (labels != nullptr) metadata["labels"] = *labels;
  metadata["labels"][hash_label] = hash;
  const Json* annotations = Find(owner, {"metadata", "annotations"});
  if (annotations != nullptr) metadata["annotations"] = *annotations;
  return {{"apiVersion", "apps/v1"},
          {"kind", "ControllerRevision"},
          {"metadata", std::move(metadata)},
          {"data", std::move(data)},
          {"revision", number}};
}

bool IsEarlier(const Object& a, const Object& b) {
  const auto age = [](const Object& one) {
    return std::tuple(NumberOf(*one), StringAt(*one, {"metadata", "creationTimestamp"}),
                      NameOf(*one));
  };
  return age(a) < age(b);
}

}  // namespace

RevisionChoice ChooseRevision(const Json& owner, const std::vector<Object>& revisions,
                              std::int64_t collisions, const char* hash_label) {
  std::vector<Object> sorted = revisions;
  std::sort(sorted.begin(), sorted.end(), IsEarlier);
  const std::int64_t next = sorted.empty() ? 1 : NumberOf(*sorted.back()) + 1;
  Json data = DataOf(owner);
  Object equal;
  for (const Object& one : sorted) {
    const Json* have = Find(*one, {"data"});
    if (have != nullptr && *have == data) equal = one;
  }
  RevisionChoice choice;
  if (equal == nullptr) {
    choice.present = NewRevision(owner, std::move(data), next, collisions, hash_label);
    choice.create = choice.present;
    return choice;
  }
  choice.present = *equal;
  if (equal == sorted.back()) return choice;
  choice.present["revision"] = next;
  choice.change = choice.present;
  return choice;
}

Json TemplateOf(const Json& revision) {
  const Json* found = Find(revision, {"data", "spec", "template"});
  if (found == nullptr) return Json();
  Json pod_template = *found;
  pod_template.erase("$patch");
  return pod_template;
}

std::string HashOf(const Json& revision, const char* hash_label) {
  return LabelOf(revision, hash_label);
}

std::vector<Object> SurplusRevisions(const std::vector<Object>& revisions, std::int64_t limit,
                                     const std::set<std::string>& live) {
  std::vector<Object> old;
  for (const Object& one : revisions) {
    if (live.count(NameOf(*one)) == 0) old.push_back(one);
  }
  std::sort(old.begin(), old.end(), IsEarlier);
  const auto keep = static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
  if (old.size() <= keep) return {};
  old.resize(old.size() - keep);
  return old;
}

}  // namespace berth::local::cluster
