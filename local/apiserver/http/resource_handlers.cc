#include "local/apiserver/http/resource_handlers.h"

#include "local/apiserver/http/bodies.h"
#include "local/apiserver/http/list_parameters.h"
#include "local/apiserver/http/render.h"
#include "local/apiserver/http/reviews.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

ApiError NotAcceptable() {
  return {406, "NotAcceptable", "only the following media types are accepted: application/json",
          Json()};
}

std::optional<RenderOptions> ReadForm(const Exchange& exchange, WallTime now) {
  const auto form = Negotiate(exchange.request.headers.Find("Accept"), Offer::kTransforms);
  if (!form) return std::nullopt;
  RenderOptions options;
  options.form = *form;
  options.include_object = exchange.target.Get("includeObject");
  options.now = now;
  return options;
}

void WarnOfDeprecation(RequestContext& context) {
  const CrdVersion* version = context.resource->crd_version;
  if (version != nullptr && version->deprecated) {
    context.warnings.push_back(version->deprecation_warning);
  }
}

}  // namespace

void ResourceHandlers::Handle(Exchange& exchange, const ApiPath& path) {
  RequestContext context;
  context.table = registry_.table();
  context.resource = context.table->Find({path.group, path.version, path.resource});
  if (context.resource == nullptr) {
    if (context.table->HasGroupVersion(path.group, path.version)) {
      exchange.SendError(UnknownPathStatus());
    } else {
      exchange.SendText(404, "text/plain; charset=utf-8", "404 page not found\n");
    }
    return;
  }
  context.namespace_name = path.namespace_name;
  context.name = path.name;
  context.subresource = path.subresource;
  context.user = exchange.user;
  context.audit = exchange.audit;
  const ResourceInfo& resource = *context.resource;
  const bool placed = resource.namespaced || path.namespace_name.empty();
  const bool whole = resource.namespaced && path.namespace_name.empty() && !path.name.empty();
  if (!placed || whole ||
      (!path.subresource.empty() && resource.FindSubresource(path.subresource) == nullptr)) {
    exchange.SendError(UnknownPathStatus());
    return;
  }
  WarnOfDeprecation(context);
  if (!path.subresource.empty()) {
    HandleSubresource(exchange, context);
  } else if (path.name.empty()) {
    HandleCollection(exchange, context);
  } else {
    HandleObject(exchange, context);
  }
}

void ResourceHandlers::HandleCollection(Exchange& exchange, RequestContext& context) {
  const std::string& method = exchange.request.method;
  const ResourceInfo& resource = *context.resource;
  if (method == "GET" && resource.Allows('l')) {
    if (exchange.target.IsTrue("watch")) {
      Watch(exchange, context);
    } else {
      List(exchange, context);
    }
    return;
  }
  if (method == "POST" && (resource.Allows('c') || resource.crd != nullptr)) {
    if (resource.namespaced && context.namespace_name.empty()) {
      exchange.SendError(MethodNotAllowedStatus(resource.id, "create"));
      return;
    }
    Create(exchange, context);
    return;
  }
  if (method == "DELETE" && resource.Allows('D')) {
    DeleteCollection(exchange, context);
    return;
  }
  exchange.SendError(MethodNotAllowedStatus(resource.id, method));
}

void ResourceHandlers::HandleObject(Exchange& exchange, RequestContext& context) {
  const std::string& method = exchange.request.method;
  if (method == "GET" && context.resource->Allows('g')) return Get(exchange, context);
  if (method == "PUT") return Update(exchange, context);
  if (method == "PATCH") return Patch(exchange, context);
  if (method == "DELETE") return Delete(exchange, context);
  exchange.SendError(MethodNotAllowedStatus(context.resource->id, method));
}

void ResourceHandlers::HandleSubresource(Exchange& exchange, RequestContext& context) {
  const std::string& method = exchange.request.method;
  const SubresourceInfo& subresource = *context.resource->FindSubresource(context.subresource);
  const auto allows = [&](char verb) { return subresource.verbs.find(verb) != std::string::npos; };
  if (context.subresource == "scale") return HandleScale(exchange, context);
  if (context.subresource == "log" && method == "GET") return ReadLog(exchange, context);
  if (StreamHandlers::Serves(context.subresource) && (method == "GET" || method == "POST")) {
    return streams_.Handle(exchange, context);
  }
  if (ProxyHandlers::Serves(context.subresource)) {
    return proxies_.Handle(exchange, context, streams_.streams(), streams_.pool());
  }
  if (method == "GET" && allows('g')) return Get(exchange, context);
  if (method == "PUT" && allows('u')) return Update(exchange, context);
  if (method == "PATCH" && allows('p')) return Patch(exchange, context);
  if (method == "POST" && allows('c')) return PostSubresource(exchange, context);
  exchange.SendError(MethodNotAllowedStatus(context.resource->id, method));
}

void ResourceHandlers::Get(Exchange& exchange, RequestContext& context) {
  const auto form = ReadForm(exchange, registry_.Now());
  if (!form) return exchange.SendError(NotAcceptable());
  auto object = registry_.Get(context);
  if (!object) return exchange.SendError(object.error(), context.warnings);
  exchange.SendJson(kOk, RenderObject(*context.resource, *object, *form), context.warnings);
}

void ResourceHandlers::List(Exchange& exchange, RequestContext& context) {
  const auto form = ReadForm(exchange, registry_.Now());
  if (!form) return exchange.SendError(NotAcceptable());
  auto query = ReadListQuery(exchange, *context.resource);
  if (!query) return exchange.SendError(query.error(), context.warnings);
  if (auto error = CheckListParameters(exchange.target)) {
    return exchange.SendError(*error, context.warnings);
  }
  auto list = registry_.List(context, *query);
  if (!list) return exchange.SendError(list.error(), context.warnings);
  auto text = RenderList(*context.resource, *list, *form);
  if (!text) return exchange.SendError(text.error(), context.warnings);
  exchange.SendJson(kOk, *std::move(text), context.warnings);
}

void ResourceHandlers::SendWritten(Exchange& exchange, const RequestContext& context,
                                   const WriteResult& result) {
  const int status = result.created ? kCreated : kOk;
  const auto form = ReadForm(exchange, registry_.Now());
  if (!form) return exchange.SendError(NotAcceptable());
  StoredPtr stored = result.stored;
  std::string text;
  if (stored == nullptr && form->form.form == Form::kObject) {
    text = EncodeObject(*result.object);
  } else {
    if (stored == nullptr) {
      stored = std::make_shared<const StoredObject>(context.key(), 0,
                                                    StoredObject::MakeDraft(*result.object));
    }
    text = RenderObject(*context.resource, stored, *form);
  }
  net::Response answer = exchange.JsonAnswer(status, std::move(text), context.warnings);
  if (result.pending == nullptr) return exchange.responder->Send(std::move(answer));
  // The answer is ready and is sent by a callback once the write is on the disk: no thread waits
  // for the write.
  const auto held = std::make_shared<net::Response>(std::move(answer));
  result.pending->OnDone([kept = exchange.shared_from_this(), context, held](const Status& done) {
    if (done) return kept->responder->Send(std::move(*held));
    kept->SendError(Registry::FromStore(done.error(), context), context.warnings);
  });
}

void ResourceHandlers::Create(Exchange& exchange, RequestContext& context) {
  if (auto error = ReadWriteOptions(exchange, context)) return exchange.SendError(*error);
  const ResourceInfo& resource = *context.resource;
  auto body =
      DecodeBody(registry_.types(), exchange.request, resource.api_version(), resource.kind);
  if (!body) return exchange.SendError(body.error(), context.warnings);
  if (IsReview(resource)) {
    // A review has no metadata, of which Tables and partial objects are made.
    if (!Negotiate(exchange.request.headers.Find("Accept"), Offer::kPlain)) {
      return exchange.SendError(NotAcceptable());
    }
    auto answer = AnswerReview(context, authenticator_, registry_.roles(), std::move(body->object));
    if (!answer) return exchange.SendError(answer.error(), context.warnings);
    return exchange.SendJson(kCreated, EncodeObject(*answer), context.warnings);
  }
  if (resource.storage == "bindings") {
    // The legacy binding request: POST …/bindings with the pod's name in the body.
    context.name = NameOf(body->object);
    context.resource = context.table->Find({"", "v1", "pods"});
    context.subresource = "binding";
    auto bound = registry_.CreateSubresource(context, std::move(*body));
    if (!bound) return exchange.SendError(bound.error(), context.warnings);
    return exchange.SendJson(kCreated, EncodeObject(*bound), context.warnings);
  }
  context.wait_for = WaitFor::kSubmitted;
  auto created = registry_.Create(context, std::move(*body));
  if (exchange.audit != nullptr) exchange.audit->name = context.name;
  if (!created) return exchange.SendError(created.error(), context.warnings);
  SendWritten(exchange, context, *created);
}

void ResourceHandlers::Update(Exchange& exchange, RequestContext& context) {
  if (auto error = ReadWriteOptions(exchange, context)) return exchange.SendError(*error);
  const ResourceInfo& resource = *context.resource;
  auto body =
      DecodeBody(registry_.types(), exchange.request, resource.api_version(), resource.kind);
  if (!body) return exchange.SendError(body.error(), context.warnings);
  context.wait_for = WaitFor::kSubmitted;
  auto updated = registry_.Update(context, std::move(*body));
  if (!updated) return exchange.SendError(updated.error(), context.warnings);
  SendWritten(exchange, context, *updated);
}

void ResourceHandlers::Patch(Exchange& exchange, RequestContext& context) {
  if (auto error = ReadWriteOptions(exchange, context)) return exchange.SendError(*error);
  auto patch = DecodePatch(exchange, *context.resource);
  if (!patch) return exchange.SendError(patch.error(), context.warnings);
  if (patch->type == PatchType::kApply && !exchange.target.Has("fieldManager")) {
    return exchange.SendError(
        InvalidStatus("meta.k8s.io", "PatchOptions", "",
                      {RequiredError("fieldManager", "is required for apply patch")}));
  }
  context.wait_for = WaitFor::kSubmitted;
  auto patched = registry_.Patch(context, std::move(*patch));
  if (!patched) return exchange.SendError(patched.error(), context.warnings);
  SendWritten(exchange, context, *patched);
}

void ResourceHandlers::Delete(Exchange& exchange, RequestContext& context) {
  auto request = ReadDeleteOptions(registry_.types(), exchange);
  if (!request) return exchange.SendError(request.error());
  context.dry_run = request->dry_run;
  auto deleted = registry_.Delete(context, request->options);
  if (!deleted) return exchange.SendError(deleted.error(), context.warnings);
  if (!deleted->gone || StrategyOf(*context.resource).AnswersDeletionWithObject()) {
    auto converted = registry_.InRequestVersion(
        context, std::make_shared<const StoredObject>(
                     context.key(),
                     std::stoll("0" + TextAt(*deleted->object, {"metadata", "resourceVersion"})),
                     StoredObject::MakeDraft(*deleted->object)));
    if (!converted) return exchange.SendError(converted.error(), context.warnings);
    return exchange.SendJson(kOk, (*converted)->Typed(), context.warnings);
  }
  const ResourceInfo& resource = *context.resource;
  Json details{{"name", context.name}};
  if (!resource.id.group.empty()) details["group"] = resource.id.group;
  details["kind"] = resource.id.resource;
  details["uid"] = UidOf(*deleted->object);
  exchange.SendJson(kOk,
                    EncodeObject({{"kind", "Status"},
                                  {"apiVersion", "v1"},
                                  {"metadata", Json::object()},
                                  {"status", "Success"},
                                  {"details", std::move(details)}}),
                    context.warnings);
}

void ResourceHandlers::DeleteCollection(Exchange& exchange, RequestContext& context) {
  auto request = ReadDeleteOptions(registry_.types(), exchange);
  if (!request) return exchange.SendError(request.error());
  context.dry_run = request->dry_run;
  auto query = ReadListQuery(exchange, *context.resource);
  if (!query) return exchange.SendError(query.error());
  auto deleted = registry_.DeleteCollection(context, *query, request->options);
  if (!deleted) return exchange.SendError(deleted.error(), context.warnings);
  ListResult list;
  list.revision = registry_.store().cache().revision();
  for (const Object& object : *deleted) {
    list.items.push_back(std::make_shared<const StoredObject>(
        ObjectKey{context.resource->storage, NamespaceOf(*object), NameOf(*object)}, list.revision,
        StoredObject::MakeDraft(*object)));
  }
  auto text = RenderList(*context.resource, list, {});
  if (!text) return exchange.SendError(text.error(), context.warnings);
  exchange.SendJson(kOk, *std::move(text), context.warnings);
}

}  // namespace berth::local
