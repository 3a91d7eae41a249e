// local/apiserver/registry/object_decoder.h — the first stage of every write: a body becomes an
// object of the request's kind and version.
//
//   identity (apiVersion, kind) → types → unknown fields → defaults of the type or the schema
//
// Threads: pure functions of their arguments.
// Errors: 400 BadRequest, in Kubernetes' words.
// Source: Kubernetes fieldValidation; k8s.io/apiserver endpoints/handlers, restated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/registry/request.h"
#include "local/apiserver/registry/resource_info.h"

namespace berth::local {

// Decodes the body of a create or an update in place. Unknown and duplicate fields are ignored,
// become warnings of `context` or are refused, as the request's fieldValidation says.
std::optional<ApiError> DecodeObject(RequestContext& context, Body& body);

// Checks and completes an object whose identity is known: types, unknown fields, defaults. Fields
// that the kind does not declare are dropped, and named in `strict_errors` unless that is null.
std::optional<ApiError> CompleteObject(const ResourceInfo& resource, Json& object,
                                       std::vector<std::string>* strict_errors);

// Ignores the errors of strict decoding, adds them to the warnings, or returns a refusal, as the
// request's fieldValidation demands.
std::optional<ApiError> ReportStrictErrors(RequestContext& context,
                                           const std::vector<std::string>& strict_errors);

}  // namespace berth::local
