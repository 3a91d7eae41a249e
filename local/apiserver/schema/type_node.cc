#include "local/apiserver/schema/type_node.h"

#include <algorithm>

namespace berth::local {
namespace {

const TypeNode* NewMapOf(TypeArena& arena, const TypeNode* element) {
  TypeNode* map = arena.New(TypeKind::kMap);
  map->element = element;
  return map;
}

TypeNode* NewListOf(TypeArena& arena, const TypeNode* element, ListType list_type) {
  TypeNode* list = arena.New(TypeKind::kList);
  list->element = element;
  list->list_type = list_type;
  return list;
}

void SortFields(TypeNode& node) {
  std::sort(node.fields.begin(), node.fields.end(),
            [](const Field& a, const Field& b) { return a.name < b.name; });
}

}  // namespace

const Field* FindField(const TypeNode& object, std::string_view name) {
  const auto at =
      std::lower_bound(object.fields.begin(), object.fields.end(), name,
                       [](const Field& field, std::string_view text) { return field.name < text; });
  return at != object.fields.end() && at->name == name ? &*at : nullptr;
}

const TypeNode* ChildType(const TypeNode& parent, std::string_view name) {
  if (parent.kind == TypeKind::kMap) return parent.element;
  if (parent.kind != TypeKind::kObject) return nullptr;
  const Field* field = FindField(parent, name);
  if (field != nullptr) return field->type;
  return parent.element;  // additionalProperties beside properties
}

const TypeNode* NewObjectMetaType(TypeArena& arena) {
  const TypeNode* text = arena.New(TypeKind::kString);
  const TypeNode* time = arena.New(TypeKind::kTime);
  const TypeNode* number = arena.New(TypeKind::kInt64);
  const TypeNode* flag = arena.New(TypeKind::kBoolean);
  TypeNode* any = arena.New(TypeKind::kAny);
  any->preserve_unknown = true;

  TypeNode* owner = arena.New(TypeKind::kObject);
  owner->name = "OwnerReference";
  owner->atomic = true;
  for (const char* name : {"apiVersion", "kind", "name", "uid"}) {
    owner->fields.push_back({.name = name, .type = text});
  }
  for (const char* name : {"blockOwnerDeletion", "controller"}) {
    owner->fields.push_back({.name = name, .type = flag, .flags = kFieldOmitEmpty | kFieldPointer});
  }
  SortFields(*owner);
  TypeNode* owners = NewListOf(arena, owner, ListType::kMap);
  owners->list_map_keys = {"uid"};

  TypeNode* entry = arena.New(TypeKind::kObject);
  entry->name = "ManagedFieldsEntry";
  for (const char* name : {"apiVersion", "fieldsType", "manager", "operation", "subresource"}) {
    entry->fields.push_back({.name = name, .type = text, .flags = kFieldOmitEmpty});
  }
  entry->fields.push_back({.name = "fieldsV1", .type = any, .flags = kFieldOmitEmpty});
  entry->fields.push_back({.name = "time", .type = time, .flags = kFieldOmitEmpty});
  SortFields(*entry);

  TypeNode* meta = arena.New(TypeKind::kObject);
  meta->name = "ObjectMeta";
  for (const char* name :
       {"name", "namespace", "uid", "resourceVersion", "selfLink", "generateName"}) {
    meta->fields.push_back({.name = name, .type = text, .flags = kFieldOmitEmpty});
  }
  for (const char* name : {"creationTimestamp", "deletionTimestamp"}) {
    meta->fields.push_back({.name = name, .type = time, .flags = kFieldOmitEmpty});
  }
  for (const char* name : {"generation", "deletionGracePeriodSeconds"}) {
    meta->fields.push_back({.name = name, .type = number, .flags = kFieldOmitEmpty});
  }
  for (const char* name : {"labels", "annotations"}) {
    meta->fields.push_back({.name = name, .type = NewMapOf(arena, text), .flags = kFieldOmitEmpty});
  }
  meta->fields.push_back({.name = "finalizers",
                          .type = NewListOf(arena, text, ListType::kSet),
                          .flags = kFieldOmitEmpty | kFieldPatchMerge});
  meta->fields.push_back({.name = "ownerReferences",
                          .type = owners,
                          .patch_merge_key = "uid",
                          .flags = kFieldOmitEmpty | kFieldPatchMerge});
  meta->fields.push_back({.name = "managedFields",
                          .type = NewListOf(arena, entry, ListType::kAtomic),
                          .flags = kFieldOmitEmpty});
  SortFields(*meta);
  return meta;
}

}  // namespace berth::local
