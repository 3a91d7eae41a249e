#include "local/apiserver/registry/cluster_roles.h"

#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "local/apiserver/auth/default_roles.h"
#include "local/apiserver/auth/role_index.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/item_index.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {
namespace {

constexpr int kMostRounds = 16;  // rounds of roles that collect roles that collect roles

const Json& LabelsOf(const Json& object) {
  static const Json kNone;
  const Json* labels = At(object, {"metadata", "labels"});
  return labels == nullptr ? kNone : *labels;
}

// The rules of the roles that `role` selects, in the order of their names.
Json CollectedRules(const Json& role, const std::vector<Object>& all) {
  Json rules = Json::array();
  ItemIndex known({}, ItemIndex::Absent::kNoItem);
  for (const Json& text : ArrayAt(role, {"aggregationRule", "clusterRoleSelectors"})) {
    const auto selector = LabelSelectorFromJson(text);
    if (!selector) continue;
    for (const Object& other : all) {
      if (NameOf(*other) == NameOf(role) || !Matches(*selector, LabelsOf(*other))) continue;
      for (const Json& rule : ArrayAt(*other, {"rules"})) {
        if (known.Find(rule)) continue;
        known.Add(rule, rules.size());
        rules.push_back(rule);
      }
    }
  }
  return rules;
}

}  // namespace

bool HasAggregationRule(const Json& role) {
  return !ArrayAt(role, {"aggregationRule", "clusterRoleSelectors"}).empty();
}

bool ClusterRoles::AggregateOnce() {
  std::vector<Object> all;
  std::vector<StoredPtr> collecting;
  for (const StoredPtr& stored : store_.cache().List(kClusterRoles, "").objects) {
    Object role = stored->json();
    if (role == nullptr) continue;
    if (HasAggregationRule(*role)) collecting.push_back(stored);
    all.push_back(std::move(role));
  }
  bool changed = false;
  for (const StoredPtr& stored : collecting) {
    Json next = *stored->json();
    Json rules = CollectedRules(next, all);
    if (ArrayAt(next, {"rules"}) == rules) continue;
    next["rules"] = std::move(rules);
    changed = true;
    // A client has written the role meanwhile: its write collects again.
    if (!store_.Commit(
            {{Write::Kind::kUpdate, stored->key(), std::move(next), stored->revision()}})) {
      return false;
    }
  }
  return changed;
}

void ClusterRoles::Aggregate() {
  const std::lock_guard lock(mutex_);
  for (int round = 0; round < kMostRounds && AggregateOnce(); ++round) {
  }
}

Status ClusterRoles::Bootstrap() {
  std::vector<Write> writes;
  const auto add = [&](const char* resource, const std::vector<Json>& wanted) {
    for (const Json& one : wanted) {
      const ObjectKey key{resource, "", NameOf(one)};
      const StoredPtr stored = store_.GetLatest(key);
      const Object known = stored == nullptr ? nullptr : stored->json();
      if (known != nullptr) {
        Json next = WithDefaults(*known, one);
        if (next != *known) {
          writes.push_back({Write::Kind::kUpdate, key, std::move(next), stored->revision()});
        }
        continue;
      }
      Json object = one;
      object["metadata"]["uid"] = identifiers_.NewUid();
      object["metadata"]["creationTimestamp"] = FormatTime(clock_.Now());
      writes.push_back({Write::Kind::kCreate, key, std::move(object), 0});
    }
  };
  add(kClusterRoles, DefaultClusterRoles());
  add(kClusterRoleBindings, DefaultClusterRoleBindings());
  if (!writes.empty()) {
    if (auto done = store_.Commit(std::move(writes)); !done) return done.error();
  }
  Aggregate();
  return OkStatus();
}

}  // namespace berth::local
