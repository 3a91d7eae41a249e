// local/apiserver/schema/name_rules.h — validates names, labels and annotations. Each function
// returns the errors of `text`, in Kubernetes' words; none: valid.
//
// Source: RFC 1123, RFC 1035; k8s.io/apimachinery validation, restated. Clients and tests quote
// these texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

std::vector<std::string> Dns1123LabelErrors(std::string_view text);      // ≤ 63: Namespace
std::vector<std::string> Dns1123SubdomainErrors(std::string_view text);  // ≤ 253: most names
std::vector<std::string> Dns1035LabelErrors(std::string_view text);      // ≤ 63: CRD names
std::vector<std::string> PathSegmentNameErrors(std::string_view text);   // RBAC names
std::vector<std::string> LabelKeyErrors(std::string_view text);  // label keys, finalizers, …
std::vector<std::string> LabelValueErrors(std::string_view text);

// Whether the number is a port of TCP or UDP.
constexpr bool IsPortNumber(std::int64_t number) { return number >= 1 && number <= 65535; }

// metadata.labels and metadata.annotations; `labels` is an object or null. `path` for the causes.
std::vector<Cause> ValidateLabels(const Json& labels, std::string_view path);
std::vector<Cause> ValidateAnnotations(const Json& annotations, std::string_view path);

}  // namespace berth::local
