#include "local/apiserver/registry/metadata_rules.h"

#include <iterator>
#include <set>

#include "api/codec/json_write.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

std::vector<std::string> NameErrors(std::string_view name, NameRule rule) {
  switch (rule) {
    case NameRule::kSubdomain: return Dns1123SubdomainErrors(name);
    case NameRule::kLabel: return Dns1123LabelErrors(name);
    case NameRule::kPathSegment: return PathSegmentNameErrors(name);
  }
  return {};
}

void ValidateName(const Json& metadata, NameRule rule, std::vector<Cause>& causes) {
  const std::string generate_name = TextAt(metadata, {"generateName"});
  if (!generate_name.empty()) {
    // Validates the name as with its random suffix.
    std::string stem = generate_name;
    if (stem.back() == '-' || stem.back() == '.') stem.back() = 'a';
    for (const std::string& why : NameErrors(stem, rule)) {
      causes.push_back(InvalidError("metadata.generateName", generate_name, why));
    }
  }
  const std::string name = TextAt(metadata, {"name"});
  if (name.empty()) {
    causes.push_back(RequiredError("metadata.name", "name or generateName is required"));
    return;
  }
  for (const std::string& why : NameErrors(name, rule)) {
    causes.push_back(InvalidError("metadata.name", name, why));
  }
}

void ValidateOwners(const Json& metadata, std::vector<Cause>& causes) {
  const Json& owners = ArrayAt(metadata, {"ownerReferences"});
  const std::string path = "metadata.ownerReferences";
  int controllers = 0;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    for (const std::string_view field : {"apiVersion", "kind", "name", "uid"}) {
      if (!TextAt(owners[i], {field}).empty()) continue;
      causes.push_back(InvalidError(ChildPath(IndexPath(path, i), field), "", "must not be empty"));
    }
    if (BoolAt(owners[i], {"controller"}, false) && ++controllers == 2) {
      causes.push_back(
          InvalidError(path, owners, "Only one reference can have Controller set to true."));
    }
  }
}

const Json& MemberOrNull(const Json& json, std::string_view key) {
  static const Json kNull;
  const Json* member = Member(json, key);
  return member == nullptr ? kNull : *member;
}

}  // namespace

void AppendCauses(std::vector<Cause>& causes, std::vector<Cause> more) {
  causes.insert(causes.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
}

std::vector<Cause> ValidateMetadata(const Json& metadata, Scope scope, NameRule rule) {
  std::vector<Cause> causes;
  ValidateName(metadata, rule, causes);
  if (scope == Scope::kCluster && !TextAt(metadata, {"namespace"}).empty()) {
    causes.push_back(ForbiddenError("metadata.namespace", "not allowed on this type"));
  }
  AppendCauses(causes, ValidateLabels(MemberOrNull(metadata, "labels"), "metadata.labels"));
  AppendCauses(causes,
               ValidateAnnotations(MemberOrNull(metadata, "annotations"), "metadata.annotations"));
  ValidateOwners(metadata, causes);
  for (const Json& finalizer : ArrayAt(metadata, {"finalizers"})) {
    const std::string text = finalizer.is_string() ? finalizer.get<std::string>() : "";
    for (const std::string& why : LabelKeyErrors(text)) {
      causes.push_back(InvalidError("metadata.finalizers", text, why));
    }
  }
  return causes;
}

std::vector<Cause> ValidateMetadataUpdate(const Json& metadata, const Json& old_metadata) {
  std::vector<Cause> causes;
  if (Member(old_metadata, "deletionTimestamp") != nullptr) {
    std::set<Json> known;
    for (const Json& finalizer : ArrayAt(old_metadata, {"finalizers"})) known.insert(finalizer);
    std::string added;
    for (const Json& finalizer : ArrayAt(metadata, {"finalizers"})) {
      if (!known.contains(finalizer))
        added += (added.empty() ? "" : ", ") + api::FormatJson(finalizer);
    }
    if (!added.empty()) {
      causes.push_back(ForbiddenError("metadata.finalizers",
                                      "no new finalizers can be added if the object is being "
                                      "deleted, found new finalizers []string{" +
                                          added + "}"));
    }
  }
  for (const std::string_view field : {"name", "namespace"}) {
    if (SameAt(metadata, old_metadata, {field})) continue;
    causes.push_back(InvalidError(ChildPath("metadata", field), TextAt(metadata, {field}),
                                  "field is immutable"));
  }
  return causes;
}

}  // namespace berth::local
