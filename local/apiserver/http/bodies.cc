#include "local/apiserver/http/bodies.h"

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/patch/managed_fields.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/types/protobuf.h"

namespace berth::local {
namespace {

ApiError UnsupportedMedia(std::string_view accepted) {
  return {415, "UnsupportedMediaType",
          "the body of the request was in an unknown format - accepted media types include: " +
              std::string(accepted),
          Json()};
}

// "application/json; charset=utf-8" without its parameters.
std::string ContentType(const net::Request& request) {
  const std::string_view value = request.headers.Find("Content-Type");
  return ToLower(TrimSpace(value.substr(0, value.find(';'))));
}

ApiResult<Body> FromDecoded(ApiResult<DecodedBody> decoded) {
  if (!decoded) return decoded.error();
  return Body{std::move(decoded->value), std::move(decoded->strict_errors)};
}

std::optional<ApiError> ReadDryRun(const std::string& value, bool& dry_run) {
  if (value.empty()) return std::nullopt;
  if (value != "All") {
    return InvalidStatus("meta.k8s.io", "CreateOptions", "",
                         {NotSupportedError("dryRun", value, {"All"})});
  }
  dry_run = true;
  return std::nullopt;
}

}  // namespace

ApiResult<Body> DecodeBody(const TypeTable& types, const net::Request& request,
                           const std::string& api_version, const std::string& kind) {
  const std::string type = ContentType(request);
  if (type == "application/vnd.kubernetes.protobuf") {
    auto object = DecodeProtobuf(types, request.body, api_version, kind);
    if (!object) return object.error();
    return Body{std::move(*object), {}};
  }
  if (type == "application/yaml" || type == "text/yaml") {
    return FromDecoded(ParseYamlBody(request.body));
  }
  if (!type.empty() && type != "application/json" && type != "*/*") {
    return UnsupportedMedia(
        "application/json, application/yaml, application/vnd.kubernetes.protobuf");
  }
  auto body = FromDecoded(ParseJson(request.body));
  if (body) body->text = request.body;
  return body;
}

ApiResult<PatchRequest> DecodePatch(const Exchange& exchange, const ResourceInfo& resource) {
  const std::string type = ContentType(exchange.request);
  PatchRequest patch;
  patch.force = exchange.target.IsTrue("force");
  if (type == "application/apply-patch+yaml") {
    patch.type = PatchType::kApply;
    auto body = FromDecoded(ParseYamlBody(exchange.request.body));
    if (!body) return body.error();
    patch.body = std::move(*body);
    return patch;
  }
  if (type == "application/json-patch+json") {
    patch.type = PatchType::kJson;
  } else if (type == "application/merge-patch+json") {
    patch.type = PatchType::kMerge;
  } else if (type == "application/strategic-merge-patch+json" && resource.crd == nullptr) {
    patch.type = PatchType::kStrategic;
  } else {
    return UnsupportedMedia(
        resource.crd == nullptr
            ? "application/json-patch+json, application/merge-patch+json, "
              "application/strategic-merge-patch+json, application/apply-patch+yaml"
            : "application/json-patch+json, application/merge-patch+json, "
              "application/apply-patch+yaml");
  }
  auto body = FromDecoded(ParseJson(exchange.request.body));
  if (!body) return body.error();
  patch.body = std::move(*body);
  return patch;
}

std::optional<ApiError> ReadWriteOptions(const Exchange& exchange, RequestContext& context) {
  const Target& target = exchange.target;
  context.manager = target.Get("fieldManager");
  if (context.manager.empty()) {
    context.manager = ManagerFromUserAgent(exchange.request.headers.Find("User-Agent"));
  }
  if (context.manager.size() > 128) {
    return InvalidStatus("meta.k8s.io", "PatchOptions", "", {TooLongError("fieldManager", 128)});
  }
  const std::string validation = target.Get("fieldValidation");
  if (validation.empty() || validation == "Warn") {
    context.field_validation = FieldValidation::kWarn;
  } else if (validation == "Strict") {
    context.field_validation = FieldValidation::kStrict;
  } else if (validation == "Ignore") {
    context.field_validation = FieldValidation::kIgnore;
  } else {
    return InvalidStatus(
        "meta.k8s.io", "CreateOptions", "",
        {NotSupportedError("fieldValidation", validation, {"Ignore", "Strict", "Warn"})});
  }
  return ReadDryRun(target.Get("dryRun"), context.dry_run);
}

ApiResult<ReadQuery> ReadListQuery(const Exchange& exchange, const ResourceInfo& resource) {
  const Target& target = exchange.target;
  ReadQuery query;
  auto labels = ParseLabelSelector(target.Get("labelSelector"));
  if (!labels) return labels.error();
  query.labels = std::move(*labels);
  auto fields = ParseFieldSelector(target.Get("fieldSelector"));
  if (!fields) return fields.error();
  std::vector<std::string> supported = resource.field_labels;
  supported.emplace_back("metadata.name");
  supported.emplace_back("metadata.namespace");
  const auto unsupported =
      CheckFieldSelector(*fields, supported, resource.kind,
                         resource.crd == nullptr ? KindOrigin::kBuiltin : KindOrigin::kCustom);
  if (unsupported) return *unsupported;
  query.fields = std::move(*fields);
  if (const std::string limit = target.Get("limit"); !limit.empty()) {
    const auto number = ParseInt64(limit);
    if (!number || *number < 0) return BadRequest("limit: Invalid value: \"" + limit + "\"");
    query.limit = static_cast<std::size_t>(*number);
  }
  query.continue_token = target.Get("continue");
  query.resource_version = target.Get("resourceVersion");
  query.resource_version_match = target.Get("resourceVersionMatch");
  return query;
}

namespace {

// Kubernetes takes a negative grace period as one second.
std::int64_t GraceAsked(std::int64_t seconds) { return seconds < 0 ? 1 : seconds; }

std::optional<ApiError> OptionsFromBody(const TypeTable& types, const Exchange& exchange,
                                        DeleteRequest& request) {
  auto body = DecodeBody(types, exchange.request, "v1", "DeleteOptions");
  if (!body) return body.error();
  const Json& json = body->object;
  DeleteOptions& options = request.options;
  options.propagation_policy = TextAt(json, {"propagationPolicy"});
  const Json* grace = Member(json, "gracePeriodSeconds");
  if (grace != nullptr && grace->is_number_integer()) {
    options.grace_period_seconds = GraceAsked(IntAt(json, {"gracePeriodSeconds"}, -1));
  }
  options.precondition_uid = TextAt(json, {"preconditions", "uid"});
  options.precondition_resource_version = TextAt(json, {"preconditions", "resourceVersion"});
  if (options.propagation_policy.empty() && Member(json, "orphanDependents") != nullptr) {
    options.propagation_policy =
        BoolAt(json, {"orphanDependents"}, false) ? "Orphan" : "Background";
  }
  for (const Json& value : ArrayAt(json, {"dryRun"})) {
    if (auto error =
            ReadDryRun(value.is_string() ? value.get<std::string>() : api::FormatJson(value),
                       request.dry_run)) {
      return error;
    }
  }
  return std::nullopt;
}

}  // namespace

ApiResult<DeleteRequest> ReadDeleteOptions(const TypeTable& types, const Exchange& exchange) {
  DeleteRequest request;
  if (!exchange.request.body.empty()) {
    if (auto error = OptionsFromBody(types, exchange, request)) return *error;
  }
  const Target& target = exchange.target;
  if (target.Has("propagationPolicy")) {
    request.options.propagation_policy = target.Get("propagationPolicy");
  }
  if (target.Has("orphanDependents")) {
    request.options.propagation_policy =
        target.IsTrue("orphanDependents") ? "Orphan" : "Background";
  }
  if (const std::string grace = target.Get("gracePeriodSeconds"); !grace.empty()) {
    const auto seconds = ParseInt64(grace);
    if (!seconds) return BadRequest("gracePeriodSeconds: Invalid value: \"" + grace + "\"");
    request.options.grace_period_seconds = GraceAsked(*seconds);
  }
  if (auto error = ReadDryRun(target.Get("dryRun"), request.dry_run)) return *error;
  return request;
}

}  // namespace berth::local
