#include "local/apiserver/registry/status_errors.h"

#include "api/codec/json_tree.h"
#include "local/apiserver/cancellation.h"
#include "local/apiserver/schema/decode.h"

namespace berth::local {
namespace {

Json Details(const ResourceId& resource, std::string_view name) {
  Json details = Json::object();
  if (!name.empty()) details["name"] = name;
  if (!resource.group.empty()) details["group"] = resource.group;
  if (!resource.resource.empty()) details["kind"] = resource.resource;
  return details;
}

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

}  // namespace

std::string QualifiedResource(const ResourceId& resource) {
  return resource.group.empty() ? resource.resource : resource.resource + "." + resource.group;
}

std::string ApiVersion(std::string_view group, std::string_view version) {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

ApiError NotFoundStatus(const ResourceId& resource, std::string_view name) {
  return {404, "NotFound", QualifiedResource(resource) + " " + Quoted(name) + " not found",
          Details(resource, name)};
}

ApiError AlreadyExistsStatus(const ResourceId& resource, std::string_view name) {
  return {409, "AlreadyExists",
          QualifiedResource(resource) + " " + Quoted(name) + " already exists",
          Details(resource, name)};
}

ApiError ConflictStatus(const ResourceId& resource, std::string_view name,
                        std::string_view message) {
  return {409, "Conflict",
          "Operation cannot be fulfilled on " + QualifiedResource(resource) + " " + Quoted(name) +
              ": " + std::string(message),
          Details(resource, name)};
}

ApiError StaleStatus(const ResourceId& resource, std::string_view name) {
  return ConflictStatus(resource, name,
                        "the object has been modified; please apply your changes to the latest "
                        "version and try again");
}

ApiError ForbiddenStatus(const ResourceId& resource, std::string_view name, std::string_view why) {
  const std::string subject =
      name.empty() ? QualifiedResource(resource) : QualifiedResource(resource) + " " + Quoted(name);
  return {403, "Forbidden", subject + " is forbidden: " + std::string(why),
          Details(resource, name)};
}

ApiError MethodNotAllowedStatus(const ResourceId& resource, std::string_view verb) {
  return {405, "MethodNotAllowed",
          std::string(verb) + " is not supported on resources of kind " +
              Quoted(QualifiedResource(resource)),
          Details(resource, "")};
}

ApiError InternalStatus(std::string_view message) {
  return {500,
          "InternalError",
          "Internal error occurred: " + std::string(message),
          {{"causes", Json::array({{{"message", message}}})}}};
}

ApiError UnavailableStatus(std::string_view message) {
  return {503, "ServiceUnavailable", std::string(message), Json()};
}

ApiError ExpiredStatus(std::string_view message) {
  return {410, "Expired", std::string(message), Json()};
}

ApiError UnauthorizedStatus() { return {401, "Unauthorized", "Unauthorized", Json()}; }

ApiError UnknownPathStatus() {
  return {404, "NotFound", "the server could not find the requested resource", Json::object()};
}

std::optional<ApiError> CheckStorable(const Json& object) {
  constexpr std::size_t kMaxStoredDepth = 240;  // kMaxDepth, and the paths of managedFields
  const api::JsonMeasure measure = api::MeasureJson(object);
  if (measure.depth > kMaxStoredDepth) {
    return ApiError{
        422, "Invalid",
        "the object would be nested deeper than " + std::to_string(kMaxStoredDepth) + " levels",
        Json()};
  }
  if (measure.bytes > kMaxBodyBytes) {
    return ApiError{413, "RequestEntityTooLarge",
                    "Request entity too large: the object would have " +
                        std::to_string(measure.bytes) + " bytes, limit is " +
                        std::to_string(kMaxBodyBytes),
                    Json()};
  }
  return std::nullopt;
}

ApiError TimeoutStatus(std::string_view message) {
  return {504, "Timeout", "Timeout: " + std::string(message), {{"retryAfterSeconds", 1}}};
}

std::optional<ApiError> CheckCancellation() {
  if (!Cancellation::IsRequested()) return std::nullopt;
  return TimeoutStatus("request did not complete within the allotted timeout");
}

std::optional<ApiError> CheckCancellationAt(std::size_t position) {
  constexpr std::size_t kSteps = 256;
  if (position % kSteps != 0) return std::nullopt;
  return CheckCancellation();
}

ApiError TooLargeRevisionStatus(std::int64_t asked, std::int64_t current) {
  const std::string message = "Too large resource version: " + std::to_string(asked) +
                              ", current: " + std::to_string(current);
  ApiError error = TimeoutStatus(message);
  error.details["causes"] = Json::array(
      {{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}});
  return error;
}

Json StatusOf(const ApiError& error) {
  Json status{{"kind", "Status"},    {"apiVersion", "v1"},       {"metadata", Json::object()},
              {"status", "Failure"}, {"message", error.message}, {"reason", error.reason},
              {"code", error.code}};
  if (!error.details.is_null()) status["details"] = error.details;
  if (!error.continue_token.empty()) status["metadata"]["continue"] = error.continue_token;
  return status;
}

}  // namespace berth::local
