// local/apiserver/schema/crd_internal.h — the parts of crd_schema.cc, for each other only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/schema/crd_schema.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

// Why `schema` is not a structural schema, in the order Kubernetes gives (by text).
std::vector<Cause> StructuralErrors(const Json& schema, std::string_view path);

// Types, bounds, patterns, enums, junctors. `old_value`: what stood there before, or null.
struct ValueErrors {
  std::vector<Cause> causes;
  std::vector<Cause> ratcheted;
};
void ValidateValue(const TypeNode& type, const Json& value, const Json* old_value,
                   const std::string& path, ValueErrors& errors);

// Keys of list maps and items of sets that stand twice.
std::vector<Cause> ListTypeErrors(const TypeNode& type, const Json& value, std::string_view path);

// apiVersion and kind of embedded objects (not of the root).
std::vector<Cause> EmbeddedErrors(const TypeNode& type, const Json& value, std::string_view path);

void DefaultValue(const TypeNode& type, Json& value);

}  // namespace berth::local
