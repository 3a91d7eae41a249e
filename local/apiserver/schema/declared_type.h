// local/apiserver/schema/declared_type.h — the types that a schema gives to expressions.
//
// Pure. Source: k8s.io/apiserver pkg/cel/common (SchemaDeclType), restated.
#pragma once

#include <cstdint>

#include "cel/check.h"
#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// The type of the values of an OpenAPI schema; dyn if the schema gives no type. The type reads
// `schema` while an expression is checked, so `schema` must outlive the type.
cel::TypePtr DeclaredType(const Json& schema);

// The type for estimates of costs. True `is_root`: the type of whole objects, whose metadata has a
// name and a generateName alone, whatever the schema says. False: no object but an embedded one has
// metadata of its own.
cel::TypePtr DeclaredType(const Json& schema, bool is_root);

// The size in bytes of the smallest value of the schema as JSON.
std::int64_t LeastBytes(const Json& schema, bool is_root);

// The type of the values of a built-in or custom kind's type tree, which must outlive the type.
cel::TypePtr DeclaredType(const TypeNode& type);

}  // namespace berth::local
