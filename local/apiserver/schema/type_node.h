// local/apiserver/schema/type_node.h — the type of a value as a tree: for built-in kinds (from the
// type table) and custom ones (from a CRD's schema).
//
// Decoding, pruning, defaulting, strategic merge patch and server-side apply walk this tree and do
// not distinguish built-in from custom kinds. Built-in nodes form a graph: a type that contains
// itself (JSONSchemaProps) has a cycle.
//
// Threads: nodes never change once their arena is handed out; any thread may read them.
// Source: Kubernetes OpenAPI extensions (x-kubernetes-*), Go struct tags of k8s.io/api.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"

namespace berth::local {

enum class TypeKind : std::uint8_t {
  kAny,     // anything; unknown content is kept (RawExtension, preserve-unknown without a type)
  kObject,  // declared fields
  kMap,     // any keys, values of `element`
  kList,    // items of `element`
  kString,
  kBoolean,
  kInt32,
  kInt64,  // built-in int64, and a CRD's "integer"
  kNumber,
  kQuantity,     // string or number; built-ins write it in canonical form
  kTime,         // metav1.Time: seconds
  kMicroTime,    // metav1.MicroTime: six decimals
  kDuration,     // metav1.Duration: Go duration text
  kIntOrString,  // keeps the form in which it was given
  kBytes,        // base64 text
};

enum class ListType : std::uint8_t { kAtomic, kSet, kMap };

struct TypeNode;
struct Validation;  // schema/validation.h; custom kinds only

// Bits of Field::flags.
enum FieldFlag : std::uint8_t {
  kFieldOmitEmpty = 1,      // Go `omitempty`: the zero value is not written
  kFieldPointer = 2,        // Go pointer: zero is a value, absence is null
  kFieldInline = 4,         // Go `json:",inline"`: the fields of `type` stand in the parent's JSON
  kFieldRequired = 8,       // must be present (a CRD's `required`)
  kFieldPatchMerge = 16,    // strategic merge patch: lists merge by patch_merge_key or as a set
  kFieldPatchRetain = 32,   // strategic merge patch: $retainKeys is understood
  kFieldPatchReplace = 64,  // strategic merge patch: replaced as a whole
  kFieldOmitZero = 128,     // Go `omitzero`: an all-zero struct is not written
};

struct Field {
  std::string name;  // the name in JSON; for kFieldInline the Go type's name
  const TypeNode* type = nullptr;
  std::string patch_merge_key;     // strategic merge patch: key of the list's items; "" for none
  std::uint32_t proto_number = 0;  // 0: not in protobuf
  std::uint8_t flags = 0;
  bool Has(FieldFlag flag) const { return (flags & flag) != 0; }
};

struct TypeNode {
  TypeKind kind = TypeKind::kAny;
  std::string name;           // Go type name ("PodSpec"); "" for custom kinds
  std::vector<Field> fields;  // kObject: sorted by name, without duplicates
  // kObject of the built-in table only: the fields of the Go struct in protobuf, where inline
  // structs are messages. Empty if the kind has no protobuf form.
  std::vector<Field> proto_fields;
  const TypeNode* element = nullptr;  // kMap, kList: never null there
  ListType list_type = ListType::kAtomic;
  std::vector<std::string> list_map_keys;  // kList with ListType::kMap
  bool atomic = false;                     // kObject, kMap: map-type atomic, one owner for all
  bool preserve_unknown = false;           // kObject: keeps undeclared fields
  bool embedded_resource = false;          // a whole object with apiVersion, kind and metadata
  bool nullable = false;                   // null is a value
  bool has_rules = false;                  // custom kinds: the node or one below has rules in CEL
  bool has_unordered = false;  // custom kinds: the node or one below is a list-type set or map
  bool cel_converts = false;   // custom kinds: the CEL value of the node differs from its JSON
  std::shared_ptr<const Json> default_value;     // null: no default
  std::shared_ptr<const Validation> validation;  // null: no constraint beyond the type
};

// The field `name` of a kObject; null if undeclared.
const Field* FindField(const TypeNode& object, std::string_view name);

// The type of `name` in an object or map: the declared field's, the map's element, or null.
const TypeNode* ChildType(const TypeNode& parent, std::string_view name);

// Owns nodes; pointers between them are valid for the arena's life, also after a move.
class TypeArena {
 public:
  TypeNode* New(TypeKind kind) {
    nodes_.push_back(std::make_unique<TypeNode>());
    nodes_.back()->kind = kind;
    return nodes_.back().get();
  }

 private:
  std::deque<std::unique_ptr<TypeNode>> nodes_;
};

// The type of metadata of objects, embedded resources and templates: the fields of ObjectMeta.
// `arena` must outlive the result.
const TypeNode* NewObjectMetaType(TypeArena& arena);

}  // namespace berth::local
