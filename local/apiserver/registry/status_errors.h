// local/apiserver/registry/status_errors.h — the Status errors of the Kubernetes API, in its words.
//
// 404 and 409 name the plural with its group (`jobs.batch "x" not found`), 422 the kind
// (schema/field_error.h).
// Source: k8s.io/apimachinery api/errors, restated; clients compare the texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "local/apiserver/api.h"

namespace berth::local {

// "jobs.batch"; "pods" for the core group.
std::string QualifiedResource(const ResourceId& resource);
// "batch/v1"; "v1" for the core group.
std::string ApiVersion(std::string_view group, std::string_view version);

ApiError NotFoundStatus(const ResourceId& resource, std::string_view name);
ApiError AlreadyExistsStatus(const ResourceId& resource, std::string_view name);
ApiError ConflictStatus(const ResourceId& resource, std::string_view name,
                        std::string_view message);
// 409: the object has changed since the caller read it.
ApiError StaleStatus(const ResourceId& resource, std::string_view name);
// `pods "x" is forbidden: why`; without a name `pods is forbidden: why`.
ApiError ForbiddenStatus(const ResourceId& resource, std::string_view name, std::string_view why);
ApiError MethodNotAllowedStatus(const ResourceId& resource, std::string_view verb);
ApiError InternalStatus(std::string_view message);  // "Internal error occurred: …"
ApiError UnavailableStatus(std::string_view message);
ApiError ExpiredStatus(std::string_view message);  // 410
ApiError UnauthorizedStatus();
// The path names no known resource: 404 with empty details.
ApiError UnknownPathStatus();
// A list at a revision above the current one.
ApiError TooLargeRevisionStatus(std::int64_t asked, std::int64_t current);
// The error if `object` may not be stored: larger than a request body may be (413), or deeper than
// clients parse (422). A patch, a default or a webhook can build such an object from small input.
std::optional<ApiError> CheckStorable(const Json& object);
ApiError TimeoutStatus(std::string_view message);
// TimeoutStatus if the request of the calling thread is cancelled (cancellation.h), else nullopt.
std::optional<ApiError> CheckCancellation();
// Calls CheckCancellation at every 256th `position` of a list, since the check costs more than a
// step of the list.
std::optional<ApiError> CheckCancellationAt(std::size_t position);

// The Status object of an error.
Json StatusOf(const ApiError& error);

}  // namespace berth::local
