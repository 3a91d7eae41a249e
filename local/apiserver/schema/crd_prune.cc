// Prune removes undeclared fields; Default adds missing ones.
#include <algorithm>
#include <cstddef>

#include "local/apiserver/schema/crd_internal.h"
#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/schema/field_path.h"

namespace berth::local {
namespace {

// Pruning follows the type of the value, not of the schema: an object in place of a number loses
// its fields too, before validation refuses the rest.
class Pruner {
 public:
  // A null `type` declares no field.
  void Prune(const TypeNode* type, Json& value, const FieldPath& path) {
    const bool preserve = type != nullptr && type->preserve_unknown;
    if (value.is_array()) {
      const TypeNode* element = type == nullptr ? nullptr : ElementOf(*type);
      if (element == nullptr && preserve) return;
      for (std::size_t i = 0; i < value.size(); ++i) Prune(element, value[i], path.Index(i));
      return;
    }
    if (!value.is_object()) return;
    const bool is_meta = type != nullptr && type->name == "ObjectMeta";
    for (auto at = value.begin(); at != value.end();) {
      const TypeNode* child = type == nullptr ? nullptr : ChildType(*type, at.key());
      if (child == nullptr && !preserve) {
        removed_.push_back(path.Child(at.key()).Text());
        at = value.erase(at);
        continue;
      }
      if (is_meta && at->is_null()) {  // creationTimestamp: null
        at = value.erase(at);
        continue;
      }
      if (child != nullptr) Prune(child, *at, path.Child(at.key()));
      ++at;
    }
  }
  std::vector<std::string> Take() {
    std::sort(removed_.begin(), removed_.end());
    return std::move(removed_);
  }

 private:
  static const TypeNode* ElementOf(const TypeNode& type) {
    return type.kind == TypeKind::kList ? type.element : nullptr;
  }
  std::vector<std::string> removed_;
};

bool IsUnwantedNull(const TypeNode* type, const Json& value) {
  return value.is_null() && type != nullptr && !type->nullable;
}

void DropNulls(const TypeNode* type, Json& value) {
  if (type == nullptr || type->name == "ObjectMeta") return;
  if (value.is_object()) {
    for (auto at = value.begin(); at != value.end();) {
      const TypeNode* child = ChildType(*type, at.key());
      if (IsUnwantedNull(child, *at) && child->default_value == nullptr &&
          child->kind != TypeKind::kAny) {
        at = value.erase(at);
        continue;
      }
      DropNulls(child, *at);
      ++at;
    }
  } else if (value.is_array() && type->kind == TypeKind::kList) {
    for (Json& item : value) DropNulls(type->element, item);
  }
}

void FillElement(const TypeNode* type, Json& value) {
  if (type == nullptr) return;
  if (IsUnwantedNull(type, value) && type->default_value != nullptr) value = *type->default_value;
  DefaultValue(*type, value);
}

}  // namespace

void DefaultValue(const TypeNode& type, Json& value) {
  if (value.is_array()) {
    if (type.kind != TypeKind::kList) return;
    for (Json& item : value) FillElement(type.element, item);
    return;
  }
  if (!value.is_object()) return;
  for (const Field& field : type.fields) {
    if (field.type->default_value != nullptr) {
      const auto at = value.find(field.name);
      if (at == value.end() || IsUnwantedNull(field.type, *at)) {
        value[field.name] = *field.type->default_value;
      }
    }
  }
  for (auto& [key, member] : value.items()) {
    const Field* field = FindField(type, key);
    if (field != nullptr) {
      DefaultValue(*field->type, member);
    } else if (type.kind == TypeKind::kMap) {
      FillElement(type.element, member);
    }
  }
}

std::vector<std::string> CrdSchema::Prune(Json& object) const {
  Pruner pruner;
  FieldPaths paths;
  pruner.Prune(root_, object, paths.Root());
  return pruner.Take();
}

void CrdSchema::Default(Json& object) const {
  DropNulls(root_, object);
  DefaultValue(*root_, object);
}

}  // namespace berth::local
