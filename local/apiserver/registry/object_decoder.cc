#include "local/apiserver/registry/object_decoder.h"

#include <utility>

#include "api/codec/json_write.h"
#include "local/apiserver/registry/crd.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/decode.h"
#include "local/apiserver/types/defaults.h"

namespace berth::local {
namespace {

constexpr std::size_t kShownBytes = 200;
constexpr std::size_t kMostStrictErrors = 100;  // the limit of Kubernetes' decoder

std::optional<ApiError> CheckIdentity(const ResourceInfo& resource, Json& object) {
  if (!object.is_object()) {
    return BadRequest("the object provided is unrecognized (must be of type " + resource.kind +
                      "): it is no JSON object");
  }
  const std::string api_version = TextAt(object, {"apiVersion"});
  const std::string kind = TextAt(object, {"kind"});
  const std::string expected = resource.api_version();
  if (resource.crd != nullptr) {
    const std::string shown = api::FormatJson(object).substr(0, kShownBytes);
    if (kind.empty()) return BadRequest("Object 'Kind' is missing in '" + shown + "'");
    if (api_version.empty()) return BadRequest("Object 'apiVersion' is missing in '" + shown + "'");
  }
  if (!kind.empty() && kind != resource.kind) {
    return BadRequest(kind + " in version \"" + (api_version.empty() ? expected : api_version) +
                      "\" cannot be handled as a " + resource.kind);
  }
  if (!api_version.empty() && api_version != expected) {
    return BadRequest("the API version in the data (" + api_version +
                      ") does not match the expected API version (" + expected + ")");
  }
  object["apiVersion"] = expected;
  object["kind"] = resource.kind;
  return std::nullopt;
}

}  // namespace

std::optional<ApiError> CompleteObject(const ResourceInfo& resource, Json& object,
                                       std::vector<std::string>* strict_errors) {
  const auto mismatch = [&](const std::string& why) {
    return BadRequest(resource.kind + " in version \"" + resource.id.version +
                      "\" cannot be handled as a " + resource.kind + ": " + why);
  };
  if (resource.crd == nullptr) {
    if (const std::string why = TypeMismatch(*resource.type, resource.kind, object); !why.empty()) {
      return mismatch(why);
    }
    if (strict_errors != nullptr) {
      for (std::string& unknown : UnknownFields(*resource.type, object)) {
        strict_errors->push_back(std::move(unknown));
      }
    }
    NormalizeBuiltin(*resource.type, object);
    ApplyStaticDefaults(resource.id.group, resource.id.version, resource.kind, object);
    if (resource.storage == kCrdStorage) DefaultCrd(object);
  } else {
    const Field* metadata = FindField(*resource.type, "metadata");
    if (metadata != nullptr && object.contains("metadata")) {
      const std::string why = TypeMismatch(*metadata->type, "ObjectMeta", object["metadata"]);
      if (!why.empty()) return mismatch(why);
      NormalizeBuiltin(*metadata->type, object["metadata"]);
    }
    for (std::string& unknown : resource.crd_version->schema->Prune(object)) {
      if (strict_errors != nullptr) {
        strict_errors->push_back("unknown field \"" + std::move(unknown) + "\"");
      }
    }
    resource.crd_version->schema->Default(object);
  }
  object["apiVersion"] = resource.api_version();
  object["kind"] = resource.kind;
  if (!object["metadata"].is_object()) object["metadata"] = Json::object();
  return std::nullopt;
}

std::optional<ApiError> ReportStrictErrors(RequestContext& context,
                                           const std::vector<std::string>& strict_errors) {
  if (strict_errors.empty()) return std::nullopt;
  switch (context.field_validation) {
    case FieldValidation::kIgnore: break;
    case FieldValidation::kWarn:
      for (const std::string& error : strict_errors) context.warnings.push_back(error);
      break;
    case FieldValidation::kStrict: {
      std::string all;
      for (const std::string& error : strict_errors) all += (all.empty() ? "" : ", ") + error;
      return BadRequest(context.resource->kind + " in version \"" + context.resource->id.version +
                        "\" cannot be handled as a " + context.resource->kind +
                        ": strict decoding error: " + all);
    }
  }
  return std::nullopt;
}

std::optional<ApiError> DecodeObject(RequestContext& context, Body& body) {
  if (auto error = CheckIdentity(*context.resource, body.object)) return error;
  std::vector<std::string> strict_errors = std::move(body.strict_errors);
  if (auto error = CompleteObject(*context.resource, body.object, &strict_errors)) return error;
  // Kubernetes finds both kinds of errors in one pass over a built-in object, and in two over a
  // custom one.
  if (context.resource->crd == nullptr && strict_errors.size() > 1) {
    SortByPlace(body.text, strict_errors);
  }
  if (strict_errors.size() > kMostStrictErrors) strict_errors.resize(kMostStrictErrors);
  return ReportStrictErrors(context, strict_errors);
}

}  // namespace berth::local
