// local/apiserver/schema/decode.h — parses request bodies to JSON, and finds unknown fields.
//
// Limits: 3 MiB (kMaxBodyBytes), depth 200. Both are errors, never truncation.
// Errors: 400 BadRequest; nothing throws.
// Source: ../../../api/yaml/yaml.h for YAML; Kubernetes fieldValidation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

inline constexpr std::size_t kMaxBodyBytes = 3 * 1024 * 1024;
inline constexpr std::size_t kMaxDepth = 200;

struct DecodedBody {
  Json value;
  std::vector<std::string> strict_errors;  // `duplicate field "data.a"`, in document order
};

// Parses one JSON value. The last of two equal keys wins and is reported. Integers keep 64 bits.
ApiResult<DecodedBody> ParseJson(std::string_view text);

// Parses one YAML document (YAML 1.1 as Kubernetes reads it), with the same report.
ApiResult<DecodedBody> ParseYamlBody(std::string_view text);

// `unknown field "spec.paralelism"` for every field that `type` does not declare, in key order.
// Does not descend into preserved content. Fields are matched case-sensitively.
std::vector<std::string> UnknownFields(const TypeNode& type, const Json& value);

// Sorts errors of ParseJson and UnknownFields by the place of their fields in `text`, the JSON text
// that both have read. Errors of fields that `text` lacks come last.
void SortByPlace(std::string_view text, std::vector<std::string>& strict_errors);

// "" if every value fits its type, else the first misfit in Go's words:
// `json: cannot unmarshal number into Go struct field ConfigMap.data of type string`.
// null fits everything. `kind` names the root.
std::string TypeMismatch(const TypeNode& type, std::string_view kind, const Json& value);

// Does to a built-in object, in place, what decoding into Go structs and encoding again does: drops
// undeclared fields, nulls and omitted zero values, writes structs without omitempty as {}, and
// canonicalises quantities, times and byte strings. Precondition: TypeMismatch passed.
void NormalizeBuiltin(const TypeNode& type, Json& value);

}  // namespace berth::local
