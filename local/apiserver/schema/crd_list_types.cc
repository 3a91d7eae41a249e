// Checks that sets and list maps have no duplicates, and that embedded objects name their type.
#include <map>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/schema/crd_internal.h"
#include "local/apiserver/schema/field_path.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

// Indexes of the second item of each equal pair; further copies are not reported.
std::vector<std::size_t> Repeated(const std::vector<Json>& items) {
  std::map<std::string, int> seen;
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string text = api::FormatJson(items[i]);
    if (++seen[text] == 2) out.push_back(i);
  }
  return out;
}

void CheckListMap(const TypeNode& type, const Json& list, const FieldPath& path,
                  std::vector<Cause>& causes) {
  std::vector<Json> keys;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_object() && !list[i].is_null()) {
      causes.push_back(InvalidError(path.Index(i).Text(), list[i],
                                    "must be an object for an array of list-type map"));
      return;
    }
    Json key = Json::object();
    for (const std::string& name : type.list_map_keys) {
      if (list[i].is_object() && list[i].contains(name)) key[name] = list[i][name];
    }
    keys.push_back(std::move(key));
  }
  for (const std::size_t i : Repeated(keys)) {
    if (causes.size() >= kMostCauses) return;
    causes.push_back(DuplicateError(path.Index(i).Text(), keys[i]));
  }
}

void CheckLists(const TypeNode& type, const Json& value, const FieldPath& path,
                std::vector<Cause>& causes) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      const TypeNode* child = ChildType(type, key);
      if (child == nullptr || !member.is_structured()) continue;
      const bool map_key = type.kind == TypeKind::kMap;
      CheckLists(*child, member, map_key ? path.Key(key) : path.Child(key), causes);
    }
    return;
  }
  if (!value.is_array() || type.kind != TypeKind::kList) return;
  if (type.list_type == ListType::kSet) {
    const std::vector<Json> items(value.begin(), value.end());
    for (const std::size_t i : Repeated(items)) {
      if (causes.size() >= kMostCauses) return;
      causes.push_back(DuplicateError(path.Index(i).Text(), value[i]));
    }
  } else if (type.list_type == ListType::kMap) {
    CheckListMap(type, value, path, causes);
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    CheckLists(*type.element, value[i], path.Index(i), causes);
  }
}

void CheckTypeMeta(const Json& object, const FieldPath& path, std::vector<Cause>& causes) {
  for (const char* name : {"apiVersion", "kind"}) {
    const FieldPath at = path.Child(name);
    const auto found = object.find(name);
    if (found == object.end()) {
      causes.push_back(RequiredError(at.Text()));
    } else if (!found->is_string()) {
      causes.push_back(InvalidError(at.Text(), *found, "must be a string"));
    } else if (found->get_ref<const std::string&>().empty()) {
      causes.push_back(InvalidError(at.Text(), *found, "must not be empty"));
    } else if (std::string_view(name) == "kind") {
      const auto errors = Dns1035LabelErrors(ToLower(found->get_ref<const std::string&>()));
      if (!errors.empty()) {
        causes.push_back(
            InvalidError(at.Text(), *found,
                         "may have mixed case, but should otherwise match: " + Join(errors, ",")));
      }
    }
  }
}

void CheckEmbedded(const TypeNode& type, const Json& value, const FieldPath& path,
                   std::vector<Cause>& causes) {
  if (causes.size() >= kMostCauses) return;
  if (value.is_array()) {
    if (type.kind != TypeKind::kList) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      CheckEmbedded(*type.element, value[i], path.Index(i), causes);
    }
    return;
  }
  if (!value.is_object()) return;
  if (type.embedded_resource && !path.IsRoot()) {
    CheckTypeMeta(value, path, causes);
    if (const auto meta = value.find("metadata"); meta != value.end() && meta->is_object()) {
      for (const char* name : {"labels", "annotations"}) {
        const auto member = meta->find(name);
        if (member == meta->end()) continue;
        const auto check = name[0] == 'l' ? ValidateLabels : ValidateAnnotations;
        if (check(*member, "").empty()) continue;
        const auto errors = check(*member, path.Child("metadata").Child(name).Text());
        causes.insert(causes.end(), errors.begin(), errors.end());
      }
    }
  }
  for (const auto& [key, member] : value.items()) {
    const TypeNode* child = ChildType(type, key);
    if (child == nullptr || !member.is_structured()) continue;
    const bool map_key = type.kind == TypeKind::kMap;
    CheckEmbedded(*child, member, map_key ? path.Key(key) : path.Child(key), causes);
  }
}

}  // namespace

std::vector<Cause> ListTypeErrors(const TypeNode& type, const Json& value, std::string_view path) {
  std::vector<Cause> causes;
  FieldPaths paths;
  CheckLists(type, value, paths.Root(path), causes);
  return causes;
}

std::vector<Cause> EmbeddedErrors(const TypeNode& type, const Json& value, std::string_view path) {
  std::vector<Cause> causes;
  FieldPaths paths;
  CheckEmbedded(type, value, paths.Root(path), causes);
  return causes;
}

}  // namespace berth::local
