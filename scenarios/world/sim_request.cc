#include "scenarios/world/sim_request.h"

#include <utility>

#include "api/codec/json_write.h"
#include "base/strings.h"
#include "local/apiserver/http/bodies.h"
#include "local/apiserver/http/exchange.h"
#include "local/apiserver/http/reviews.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::sim {
namespace {

using kube::ApiRequest;
using kube::ApiResponse;
using local::ApiError;
using local::ApiResult;
using local::Body;
using local::Json;
using local::PatchType;
using local::Registry;
using local::RequestContext;

constexpr int kOk = 200;
constexpr int kCreated = 201;

ApiResponse JsonResponse(int status, local::Object object) {
  ApiResponse response;
  response.status = status;
  response.body = std::move(object);
  return response;
}

ApiResponse Written(ApiResult<local::WriteResult> result) {
  if (!result) return ErrorResponse(result.error());
  return JsonResponse(result->created ? kCreated : kOk, result->object);
}

ApiResponse FromJson(int status, ApiResult<Json> result) {
  if (!result) return ErrorResponse(result.error());
  return JsonResponse(status, std::make_shared<const Json>(std::move(*result)));
}

ApiResponse List(Registry& registry, const RequestContext& context, const local::Target& target) {
  auto query = QueryOf(target, *context.resource);
  if (!query) return ErrorResponse(query.error());
  auto found = registry.List(context, *query);
  if (!found) return ErrorResponse(found.error());
  Json items = Json::array();
  for (const local::StoredPtr& item : found->items) {
    if (const local::Object object = item->json()) items.push_back(*object);
  }
  Json metadata{{"resourceVersion", std::to_string(found->revision)}};
  if (!found->continue_token.empty()) metadata["continue"] = found->continue_token;
  return JsonResponse(
      kOk, std::make_shared<const Json>(Json{{"kind", context.resource->list_kind},
                                             {"apiVersion", context.resource->api_version()},
                                             {"metadata", std::move(metadata)},
                                             {"items", std::move(items)}}));
}

ApiResult<PatchType> PatchTypeOf(const std::string& content_type) {
  if (content_type == "application/apply-patch+yaml") return PatchType::kApply;
  if (content_type == "application/json-patch+json") return PatchType::kJson;
  if (content_type == "application/merge-patch+json") return PatchType::kMerge;
  if (content_type == "application/strategic-merge-patch+json") return PatchType::kStrategic;
  return ApiError{415, "UnsupportedMediaType", "not a patch: " + content_type, Json()};
}

ApiResponse Patch(Registry& registry, RequestContext& context, const ApiRequest& request,
                  const local::Target& target) {
  auto type = PatchTypeOf(request.content_type);
  if (!type) return ErrorResponse(type.error());
  local::PatchRequest patch{*type, Body{*request.body, {}}, target.IsTrue("force")};
  if (context.subresource == "scale") {
    return FromJson(kOk, registry.PatchScale(context, std::move(patch)));
  }
  return Written(registry.Patch(context, std::move(patch)));
}

ApiResponse Delete(Registry& registry, RequestContext& context, const ApiRequest& request,
                   const local::Target& target) {
  local::Exchange exchange;
  exchange.target = target;
  if (request.body != nullptr) {
    exchange.request.headers.Add("Content-Type", "application/json");
    exchange.request.body = api::FormatJson(*request.body);
  }
  auto options = local::ReadDeleteOptions(registry.types(), exchange);
  if (!options) return ErrorResponse(options.error());
  context.dry_run = options->dry_run;
  auto deleted = registry.Delete(context, options->options);
  if (!deleted) return ErrorResponse(deleted.error());
  return JsonResponse(kOk, deleted->object);
}

ApiResponse Create(Registry& registry, RequestContext& context, const ApiRequest& request) {
  if (!context.subresource.empty()) {
    return FromJson(kCreated, registry.CreateSubresource(context, Body{*request.body, {}}));
  }
  if (local::IsReview(*context.resource)) {
    const local::Authenticator nobody("");  // the simulation has no tokens
    return FromJson(kCreated,
                    local::AnswerReview(context, nobody, registry.roles(), *request.body));
  }
  return Written(registry.Create(context, Body{*request.body, {}}));
}

}  // namespace

ApiResponse ErrorResponse(const ApiError& error) {
  return JsonResponse(error.code, std::make_shared<const Json>(local::StatusOf(error)));
}

ApiResult<RequestContext> ContextOf(Registry& registry, const local::Target& target) {
  const auto path = local::ParseApiPath(target.path);
  if (!path || path->resource.empty()) return local::UnknownPathStatus();
  RequestContext context;
  context.table = registry.table();
  context.resource = context.table->Find({path->group, path->version, path->resource});
  if (context.resource == nullptr) return local::UnknownPathStatus();
  context.namespace_name = path->namespace_name;
  context.name = path->name;
  context.subresource = path->subresource;
  const bool whole = context.resource->namespaced && path->namespace_name.empty();
  if ((whole && !path->name.empty()) ||
      (!context.resource->namespaced && !whole && !path->namespace_name.empty())) {
    return local::UnknownPathStatus();
  }
  if (!path->subresource.empty() &&
      context.resource->FindSubresource(path->subresource) == nullptr) {
    return local::UnknownPathStatus();
  }
  const std::string manager = target.Get("fieldManager");
  if (!manager.empty()) context.manager = manager;
  return context;
}

ApiResult<local::ReadQuery> QueryOf(const local::Target& target,
                                    const local::ResourceInfo& resource) {
  local::Exchange exchange;
  exchange.target = target;
  return local::ReadListQuery(exchange, resource);
}

ApiResponse Answer(Registry& registry, const ApiRequest& request) {
  const auto target = local::ParseTarget(request.path);
  if (!target) return ErrorResponse({400, "BadRequest", "bad path " + request.path, Json()});
  auto context = ContextOf(registry, *target);
  if (!context) return ErrorResponse(context.error());
  const bool writes_body =
      request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
  if (writes_body &&
      (request.body == nullptr || !(request.body->is_object() || request.body->is_array()))) {
    return ErrorResponse({400, "BadRequest", "a body is needed", Json()});
  }
  if (request.method == "GET" && context->name.empty()) {
    return List(registry, *context, *target);
  }
  if (request.method == "GET") {
    auto found = registry.Get(*context);
    return found ? JsonResponse(kOk, (*found)->json()) : ErrorResponse(found.error());
  }
  if (request.method == "POST") return Create(registry, *context, request);
  if (request.method == "PUT") return Written(registry.Update(*context, Body{*request.body, {}}));
  if (request.method == "PATCH") return Patch(registry, *context, request, *target);
  if (request.method == "DELETE") return Delete(registry, *context, request, *target);
  return ErrorResponse(local::MethodNotAllowedStatus(context->resource->id, request.method));
}

}  // namespace berth::sim
