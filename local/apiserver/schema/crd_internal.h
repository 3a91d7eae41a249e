// local/apiserver/schema/crd_internal.h — functions that the sources of crd_schema.h share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/field_path.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// The reasons why `schema` is not structural, in Kubernetes' order (by text).
std::vector<Cause> StructuralErrors(const Json& schema, std::string_view path);

// Checks types, bounds, patterns, enums and junctors (allOf, anyOf, oneOf, not). `old_value`: the
// value before the update, or null.
struct ValueErrors {
  std::vector<Cause> causes;
  std::vector<Cause> ratcheted;
};
void ValidateValue(const TypeNode& type, const Json& value, const Json* old_value,
                   const FieldPath& path, ValueErrors& errors);

// Duplicate keys of list maps and items of sets.
std::vector<Cause> ListTypeErrors(const TypeNode& type, const Json& value, std::string_view path);

// apiVersion and kind of embedded objects (not of the root).
std::vector<Cause> EmbeddedErrors(const TypeNode& type, const Json& value, std::string_view path);

void DefaultValue(const TypeNode& type, Json& value);

}  // namespace berth::local
