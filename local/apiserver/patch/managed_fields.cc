#include "local/apiserver/patch/managed_fields.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/patch/managers.h"
#include "local/apiserver/patch/typed.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

constexpr const char* kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";
constexpr const char* kBeforeFirstApply = "before-first-apply";

PathElement FieldNamed(const char* name) { return {PathElement::Kind::kField, name}; }

// Fields that no manager owns: identity and bookkeeping.
const FieldSet& NeverTracked() {
  static const FieldSet kSet = [] {
    FieldSet set;
    set.MutableChild(FieldNamed("apiVersion")).SetMember();
    set.MutableChild(FieldNamed("kind")).SetMember();
    FieldSet& meta = set.MutableChild(FieldNamed("metadata"));
    meta.SetMember();
    for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                             "clusterName", "generation", "managedFields", "resourceVersion"}) {
      meta.MutableChild(FieldNamed(name)).SetMember();
    }
    return set;
  }();
  return kSet;
}

const Json& MetaMember(const Json& object, const char* name) {
  static const Json kNone;
  const auto meta = object.find("metadata");
  if (meta == object.end() || !meta->is_object()) return kNone;
  const auto at = meta->find(name);
  return at == meta->end() ? kNone : *at;
}

void SetManagedFields(Json& object, Json value) {
  const auto meta = object.find("metadata");
  if (value.is_null()) {
    if (meta != object.end() && meta->is_object()) meta->erase("managedFields");
    return;
  }
  if (meta != object.end() && !meta->is_object()) return;
  object["metadata"]["managedFields"] = std::move(value);
}

Json WithoutManagedFields(Json object) {
  SetManagedFields(object, nullptr);
  return object;
}

// `managedFields: []` and `[{}]` reset all managers.
bool IsReset(const Json& managed_fields) {
  if (!managed_fields.is_array()) return false;
  return managed_fields.empty() ||
         (managed_fields.size() == 1 && managed_fields[0].is_object() && managed_fields[0].empty());
}

Comparison Without(Comparison comparison, const FieldSet& ignored) {
  if (ignored.empty()) return comparison;
  comparison.added = comparison.added.RecursiveDifference(ignored);
  comparison.modified = comparison.modified.RecursiveDifference(ignored);
  comparison.removed = comparison.removed.RecursiveDifference(ignored);
  return comparison;
}

// One change, converted to each apiVersion of the managers.
class Versions {
 public:
  explicit Versions(const ManagerContext& context) : context_(context) {}

  const TypeNode* TypeAt(const std::string& api_version) const {
    if (api_version == context_.api_version || !context_.type_at) return context_.type;
    const TypeNode* type = context_.type_at(api_version);
    return type == nullptr ? context_.type : type;
  }

  // The version at which fields of `api_version` are compared: without a conversion objects of all
  // versions are the same.
  const std::string& ComparedAt(const std::string& api_version) const {
    return context_.convert || context_.type_at ? api_version : context_.api_version;
  }

  // nullopt: the version is not served.
  std::optional<Json> At(const Json& object, const std::string& from,
                         const std::string& api_version) const {
    if (from == api_version || !context_.convert) return object;
    ApiResult<Json> converted = context_.convert(object, api_version);
    if (!converted) return std::nullopt;
    return *std::move(converted);
  }

 private:
  const ManagerContext& context_;
};

using Conflicts = std::map<ManagerKey, FieldSet>;

// Removes the fields that changed between `before` and `after` from every manager but `self`.
// Returns the conflicts with appliers; if the policy is ConflictPolicy::kFail, removes nothing
// where there are any.
Conflicts TakeChanges(const Json& before, const Json& after, const ManagerContext& context,
                      const ManagerKey& self, ConflictPolicy policy, Managers& managers,
                      Comparison& own) {
  const Versions versions(context);
  std::map<std::string, Comparison> by_version;
  by_version[context.api_version] =
      Without(Compare(context.type, before, after), context.reset_fields);
  Conflicts conflicts;
  for (auto at = managers.begin(); at != managers.end();) {
    const auto& [key, set] = *at;
    if (key == self) {
      ++at;
      continue;
    }
    const std::string& version = versions.ComparedAt(set.api_version);
    if (by_version.count(version) == 0) {
      const auto left = versions.At(before, context.api_version, version);
      const auto right = versions.At(after, context.api_version, version);
      if (!left || !right) {
        at = managers.erase(at);
        continue;
      }
      by_version[version] =
          Without(Compare(versions.TypeAt(version), *left, *right), context.reset_fields);
    }
    const Comparison& change = by_version[version];
    FieldSet conflict = set.fields.Intersection(change.modified);
    conflict.Add(set.fields.Intersection(change.added));
    if (!conflict.empty()) conflicts[key] = std::move(conflict);
    ++at;
  }
  if (policy == ConflictPolicy::kFail && !conflicts.empty()) {
    own = std::move(by_version[context.api_version]);
    return conflicts;
  }
  for (auto at = managers.begin(); at != managers.end();) {
    auto& [key, set] = *at;
    if (const auto taken = conflicts.find(key); taken != conflicts.end()) {
      set.fields.Subtract(taken->second);
    }
    if (key != self) set.fields.Subtract(by_version[versions.ComparedAt(set.api_version)].removed);
    at = set.fields.empty() ? managers.erase(at) : std::next(at);
  }
  own = std::move(by_version[context.api_version]);
  return conflicts;
}

void Update(const Json& live, const Json& updated, const ManagerContext& context,
            const std::string& manager, Managers& managers) {
  // During the computation the writer has a name of its own, so that its older entry loses the
  // fields that it does not set any more.
  const ManagerKey self{.manager = "\x01", .subresource = context.subresource};
  Comparison change;
  TakeChanges(live, updated, context, self, ConflictPolicy::kForce, managers, change);
  FieldSet fields = std::move(change.added);
  fields.Add(std::move(change.modified));
  if (!context.reset_fields.empty()) fields = fields.RecursiveDifference(context.reset_fields);
  fields.Subtract(NeverTracked());
  if (fields.empty()) return;
  const ManagerKey key{.manager = manager.empty() ? "unknown" : manager,
                       .api_version = context.api_version,
                       .subresource = context.subresource};
  ManagedSet& set = managers[key];
  set.fields.Add(std::move(fields));
  set.api_version = context.api_version;
  set.time = FormatTime(context.now);
}

// The union of all managers' fields at each version: these must not be pruned.
std::map<std::string, FieldSet> OwnedByVersion(const Managers& managers, const Versions& versions) {
  std::map<std::string, FieldSet> owned;
  for (const auto& [key, set] : managers) {
    owned[versions.ComparedAt(set.api_version)].Add(FieldSet(set.fields));
  }
  return owned;
}

// Removes from `merged` the fields that the manager applied last time, does not apply now, and no
// other manager owns. `managers` has its new set already.
Json Prune(Json merged, const ManagedSet& last, const ManagerContext& context,
           const Managers& managers) {
  if (last.fields.empty()) return merged;
  const Versions versions(context);
  const std::string& version = versions.ComparedAt(last.api_version);
  std::optional<Json> base = versions.At(merged, context.api_version, version);
  if (!base) return merged;
  const TypeNode* type = versions.TypeAt(version);
  const FieldSet last_fields = WithNamedFields(type, last.fields);
  Json pruned = RemoveItems(type, *base, last_fields);

  std::map<std::string, FieldSet> owned = OwnedByVersion(managers, versions);
  std::vector<std::string> order{version};  // first: others may need its fields for conversion
  for (const auto& [other, fields] : owned) {
    if (other != version) order.push_back(other);
  }
  std::string at = version;
  Json merged_at = *base;
  for (const std::string& other : order) {
    if (owned.count(other) == 0) continue;
    const auto left = versions.At(merged_at, at, other);
    const auto right = versions.At(pruned, at, other);
    if (!left || !right) continue;
    const TypeNode* other_type = versions.TypeAt(other);
    const FieldSet all = WithNamedFields(other_type, ToFieldSet(other_type, *left));
    const FieldSet kept = WithNamedFields(other_type, ToFieldSet(other_type, *right))
                              .Union(WithNamedFields(other_type, owned[other]));
    pruned = RemoveItems(other_type, *left, all.Difference(kept));
    merged_at = *left;
    at = other;
  }

  // Fields that the manager did not own must not be removed with those that it owned.
  const auto pruned_again = versions.At(pruned, at, version);
  if (!pruned_again) return merged;
  const FieldSet left_over = WithNamedFields(type, ToFieldSet(type, *pruned_again));
  const FieldSet all = WithNamedFields(type, ToFieldSet(type, *base));
  const Json result = RemoveItems(type, *base, all.Difference(left_over).Intersection(last_fields));
  return versions.At(result, version, context.api_version).value_or(merged);
}

ApiError ConflictError(const Conflicts& conflicts) {
  Json causes = Json::array();
  std::size_t count = 0;
  std::string listed;
  std::string only;
  for (const auto& [key, fields] : conflicts) {
    listed += (listed.empty() ? "conflicts with " : "\nconflicts with ") + ManagerText(key) + ":";
    for (const std::string& path : fields.Paths()) {
      if (++count == 1) only = "conflict with " + ManagerText(key) + ": " + path;
      if (count > kMostCauses) continue;
      listed += "\n- " + path;
      causes.push_back({{"reason", "FieldManagerConflict"},
                        {"message", "conflict with " + ManagerText(key)},
                        {"field", path}});
    }
  }
  const std::string message =
      count == 1 ? "Apply failed with 1 conflict: " + only
                 : "Apply failed with " + std::to_string(count) + " conflicts: " + listed;
  return ApiError{409, "Conflict", message, {{"causes", std::move(causes)}}};
}

// "ns/name; batch/v1, Kind=Job": Kubernetes' notation in such errors.
std::string ObjectText(const Json& object, const std::string& api_version) {
  const auto text = [](const Json& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  const bool core = api_version.find('/') == std::string::npos;
  return text(MetaMember(object, "namespace")) + "/" + text(MetaMember(object, "name")) + "; " +
         (core ? "/" : "") + api_version + ", Kind=" + text(object.value("kind", Json()));
}

std::optional<ApiError> CheckConfiguration(const Json& config, const ManagerContext& context) {
  if (!config.is_object()) return BadRequest("an apply configuration must be an object");
  const Json version = config.value("apiVersion", Json());
  if (version != context.api_version) {
    return BadRequest("Incorrect version specified in apply patch. Specified patch version: " +
                      (version.is_string() ? version.get<std::string>() : std::string()) +
                      ", expected: " + context.api_version);
  }
  if (!MetaMember(config, "managedFields").is_null()) {
    return BadRequest("metadata.managedFields must be nil");
  }
  const std::vector<std::string> errors = ValidateTyped(context.type, config);
  if (errors.empty()) return std::nullopt;
  std::string text = errors[0];
  if (errors.size() > 1) text = "errors:\n  " + Join(errors, "\n  ");
  return ApiError{500, "",
                  "failed to create typed patch object (" +
                      ObjectText(config, context.api_version) + "): " + text,
                  nullptr};
}

// Fields that kubectl's client-side apply set and that have not changed since: kubectl's
// server-side apply may take them over.
FieldSet LastAppliedFields(const Json& live, const ManagerContext& context) {
  const Json& annotations = MetaMember(live, "annotations");
  const Json text = annotations.is_object() ? annotations.value(kLastApplied, Json()) : Json();
  if (!text.is_string()) return {};
  const Json last = api::ParseJsonOrNull(text.get_ref<const std::string&>());
  if (!last.is_object() || last.value("apiVersion", Json()) != context.api_version) return {};
  const Comparison change = Compare(context.type, last, live);
  return ToFieldSet(context.type, last)
      .Difference(change.modified)
      .Difference(change.added)
      .Difference(change.removed);
}

// Updates kubectl's last-applied annotation to the configuration of a server-side apply.
void SyncLastApplied(const Json& live, Json config, Json& result) {
  const Json& annotations = MetaMember(live, "annotations");
  if (!annotations.is_object()) return;
  const auto had = annotations.find(kLastApplied);
  if (had == annotations.end() || !had->is_string() || had->get_ref<const std::string&>().empty()) {
    return;
  }
  if (const auto meta = config.find("metadata"); meta != config.end() && meta->is_object()) {
    const auto own = meta->find("annotations");
    if (own != meta->end() && own->is_object()) own->erase(kLastApplied);
  }
  result["metadata"]["annotations"][kLastApplied] = api::FormatJson(config) + "\n";
}

bool HasNull(const Json& value) {
  return value.is_null() ||
         (value.is_structured() && std::any_of(value.begin(), value.end(),
                                               [](const Json& member) { return HasNull(member); }));
}

// Merges and prunes; changes `managers` on success only.
std::variant<Json, Conflicts> Merge(const Json& live, const Json& config,
                                    const ManagerContext& context, ConflictPolicy policy,
                                    const ManagerKey& self, Managers& managers) {
  Managers changed = managers;
  const auto previous = changed.find(self);
  const ManagedSet last = previous == changed.end() ? ManagedSet{} : previous->second;
  Json merged = MergeTyped(context.type, live, config);
  ManagedSet& own = changed[self];
  own.fields = ToFieldSet(context.type, config).RecursiveDifference(context.reset_fields);
  own.api_version = context.api_version;
  const bool had_nulls = HasNull(merged);
  merged = Prune(std::move(merged), last, context, changed);
  Comparison change;
  Conflicts conflicts = TakeChanges(live, merged, context, self, policy, changed, change);
  if (policy == ConflictPolicy::kFail && !conflicts.empty()) return conflicts;
  if (const auto mine = changed.find(self); mine != changed.end()) {
    mine->second.fields.Subtract(NeverTracked());
    if (mine->second.fields.empty()) changed.erase(mine);
  }
  managers = std::move(changed);
  // Pruning turns emptied containers into null, which must not stay.
  if (!had_nulls) api::DropNulls(merged);
  return merged;
}

bool IsSubsetOf(const Conflicts& conflicts, const FieldSet& allowed) {
  return std::all_of(conflicts.begin(), conflicts.end(), [&](const auto& conflict) {
    return conflict.second.Difference(allowed).empty();
  });
}

}  // namespace

std::string ManagerFromUserAgent(std::string_view user_agent) {
  const std::string name = ReplaceInvalidUtf8(user_agent.substr(0, user_agent.find('/')));
  return std::string(TruncateUtf8(name, 128));
}

void TrackUpdate(const Json* live, Json& updated, const ManagerContext& context) {
  const Json& asked = MetaMember(updated, "managedFields");
  const Json had = live == nullptr ? Json() : MetaMember(*live, "managedFields");
  std::optional<Managers> managers;
  if (context.subresource.empty() && IsReset(asked)) {
    managers = Managers{};
  } else {
    if (context.subresource.empty()) managers = ReadManagers(asked);
    if (!managers || managers->empty()) managers = ReadManagers(had);
    if (!managers) managers = Managers{};
  }
  SetManagedFields(updated, nullptr);
  // An object without managers stays without until the first apply.
  if (managers->empty() && live != nullptr) return;
  // Neither side has managedFields, which no manager owns.
  Update(live == nullptr ? Json::object() : WithoutManagedFields(*live), updated, context,
         context.manager, *managers);
  CapUpdaters(*managers);
  SetManagedFields(updated, WriteManagers(*managers));
}

ApiResult<AppliedObject> ApplyConfiguration(const Json* live, const Json& config,
                                            const ManagerContext& context, ConflictPolicy policy) {
  if (auto error = CheckConfiguration(config, context)) return *std::move(error);
  Json base = Json::object();
  Json had;
  if (live != nullptr) {
    had = MetaMember(*live, "managedFields");
    base = WithoutManagedFields(*live);
  } else {
    base["apiVersion"] = config["apiVersion"];
    base["kind"] = config.value("kind", Json());
  }
  std::optional<Managers> managers = ReadManagers(had);
  if (!managers) {
    return ApiError{500, "InternalError", "failed to decode managed fields", nullptr};
  }
  if (managers->empty()) {
    const Json empty{{"apiVersion", base.value("apiVersion", Json())},
                     {"kind", base.value("kind", Json())}};
    Update(empty, base, context, kBeforeFirstApply, *managers);
  }
  const ManagerKey self{.manager = context.manager.empty() ? "unknown" : context.manager,
                        .operation = Operation::kApply,
                        .subresource = context.subresource};
  auto merged = Merge(base, config, context, policy, self, *managers);
  if (const auto* conflicts = std::get_if<Conflicts>(&merged)) {
    const bool is_kubectl = context.manager == "kubectl";
    const FieldSet allowed = is_kubectl ? LastAppliedFields(base, context) : FieldSet{};
    if (!is_kubectl || !IsSubsetOf(*conflicts, allowed)) {
      Conflicts open;
      for (const auto& [key, fields] : *conflicts) {
        FieldSet rest = fields.Difference(allowed);
        if (!rest.empty()) open[key] = std::move(rest);
      }
      return ConflictError(open);
    }
    merged = Merge(base, config, context, ConflictPolicy::kForce, self, *managers);
  }
  AppliedObject out;
  out.object = std::get<Json>(std::move(merged));
  const bool same_object = out.object == base;
  const auto mine = managers->find(self);
  // An apply that changes nothing writes no time, not even a first one; Kubernetes does the same.
  if (mine != managers->end() && !same_object) mine->second.time = FormatTime(context.now);
  if (context.manager == "kubectl") SyncLastApplied(base, config, out.object);
  SetManagedFields(out.object, WriteManagers(*managers));
  out.changed = live == nullptr || out.object != *live;
  return out;
}

FieldSet ResetAllButStatus(const std::string& /*api_version*/) {
  FieldSet set;
  set.MutableChild(FieldNamed("metadata")).SetMember();
  set.MutableChild(FieldNamed("spec")).SetMember();
  return set;
}

FieldSet ResetStatus() {
  FieldSet set;
  set.MutableChild(FieldNamed("status")).SetMember();
  return set;
}

}  // namespace berth::local
