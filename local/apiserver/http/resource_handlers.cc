#include "local/apiserver/http/resource_handlers.h"

#include <chrono>
#include <random>

#include "base/rfc3339.h"
#include "base/strings.h"
#include "local/apiserver/http/bodies.h"
#include "local/apiserver/http/list_parameters.h"
#include "local/apiserver/http/pod_containers.h"
#include "local/apiserver/http/render.h"
#include "local/apiserver/http/reviews.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/registry/write_committer.h"

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

constexpr std::int64_t kLongestWatchSeconds = 24 * 3600;

std::int64_t Number(const Target& target, std::string_view name, std::int64_t otherwise) {
  const auto number = ParseInt64(target.Get(name));
  return number && *number >= 0 ? *number : otherwise;
}

ApiError InvalidLogOption(const std::string& field, const std::string& why) {
  return {422,
          "Invalid",
          "PodLogOptions \"\" is invalid: " + field + ": Invalid value: " + why,
          {{"kind", "PodLogOptions"},
           {"causes",
            Json::array({{{"reason", "FieldValueInvalid"}, {"message", why}, {"field", field}}})}}};
}

std::optional<ApiError> ReadLogLimits(const Target& target, LogRequest& request) {
  struct Limit {
    const char* name;
    std::int64_t least;
    std::int64_t* value;
  };
  for (const Limit& limit :
       {Limit{"tailLines", 0, &request.tail_lines}, Limit{"limitBytes", 1, &request.limit_bytes},
        Limit{"sinceSeconds", 1, &request.since_seconds}}) {
    const std::string text = target.Get(limit.name);
    if (text.empty()) continue;
    const auto number = ParseInt64(text);
    if (!number || *number < limit.least) {
      return InvalidLogOption(
          limit.name, text + ": must be a number of at least " + std::to_string(limit.least));
    }
    *limit.value = *number;
  }
  const std::string since = target.Get("sinceTime");
  if (since.empty()) return std::nullopt;
  if (request.since_seconds >= 0) {
    return InvalidLogOption("sinceTime", since +
                                             ": at most one of sinceTime or sinceSeconds may be "
                                             "specified");
  }
  request.since_time = ParseTime(since);
  if (!request.since_time) {
    return InvalidLogOption("sinceTime", since + ": write it as 2026-11-20T07:03:22Z");
  }
  return std::nullopt;
}

// Whether a container of the pod that has ended will run again, as the pod's status tells.
bool MayRestart(const Json& pod, const std::string& container) {
  const std::string phase = TextAt(pod, {"status", "phase"});
  if (phase == "Succeeded" || phase == "Failed" || IsBeingDeleted(pod)) return false;
  std::string policy = TextAt(pod, {"spec", "restartPolicy"});
  bool is_init = false;
  for (const Json& declared : ArrayAt(pod, {"spec", "initContainers"})) {
    if (TextAt(declared, {"name"}) != container) continue;
    is_init = true;
    const std::string own = TextAt(declared, {"restartPolicy"});
    if (!own.empty()) {
      policy = own;
    } else if (policy == "Always") {
      policy = "OnFailure";
    }
  }
  if (policy != "OnFailure") return policy != "Never";
  for (const Json& status :
       ArrayAt(pod, {"status", is_init ? "initContainerStatuses" : "containerStatuses"})) {
    if (TextAt(status, {"name"}) != container) continue;
    const Json* end = At(status, {"state", "terminated"});
    return end == nullptr || end->value("exitCode", 0) != 0;
  }
  return true;
}

// Random, so that clients without a timeout do not all return at the same time.
Duration WatchTimeout(const Target& target) {
  const std::int64_t seconds = Number(target, "timeoutSeconds", 0);
  if (seconds > 0) return std::chrono::seconds(std::min(seconds, kLongestWatchSeconds));
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::chrono::seconds(1800 + static_cast<std::int64_t>(generator() % 1800));
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
    kept->SendError(StoreRefusal(done.error(), context), context.warnings);
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

// Handlers of scale, binding, eviction and logs; watches.

void ResourceHandlers::PostSubresource(Exchange& exchange, RequestContext& context) {
  if (auto error = ReadWriteOptions(exchange, context)) return exchange.SendError(*error);
  const SubresourceInfo& subresource = *context.resource->FindSubresource(context.subresource);
  auto body = DecodeBody(registry_.types(), exchange.request,
                         ApiVersion(subresource.group, subresource.version), subresource.kind);
  if (!body) return exchange.SendError(body.error(), context.warnings);
  auto answer = registry_.CreateSubresource(context, std::move(*body));
  if (!answer) return exchange.SendError(answer.error(), context.warnings);
  exchange.SendJson(kCreated, EncodeObject(*answer), context.warnings);
}

void ResourceHandlers::HandleScale(Exchange& exchange, RequestContext& context) {
  const std::string& method = exchange.request.method;
  if (auto error = ReadWriteOptions(exchange, context)) return exchange.SendError(*error);
  ApiResult<Json> scale = MethodNotAllowedStatus(context.resource->id, method);
  if (method == "GET") {
    scale = registry_.GetScale(context);
  } else if (method == "PUT") {
    auto body = DecodeBody(registry_.types(), exchange.request, "autoscaling/v1", "Scale");
    if (!body) return exchange.SendError(body.error());
    scale = registry_.UpdateScale(context, std::move(*body));
  } else if (method == "PATCH") {
    auto patch = DecodePatch(exchange, *context.resource);
    if (!patch) return exchange.SendError(patch.error());
    scale = registry_.PatchScale(context, std::move(*patch));
  }
  if (!scale) return exchange.SendError(scale.error(), context.warnings);
  exchange.SendJson(kOk, EncodeObject(*scale), context.warnings);
}

void ResourceHandlers::ReadLog(Exchange& exchange, RequestContext& context) {
  if (logs_ == nullptr) {
    return exchange.SendError(UnavailableStatus("nothing runs pods here, so there are no logs"));
  }
  auto stored = registry_.Get(context);
  if (!stored) return exchange.SendError(stored.error());
  const Object pod = (*stored)->json();
  if (pod == nullptr) return exchange.SendError(InternalStatus("the pod cannot be read"));
  const Target& target = exchange.target;
  LogRequest request;
  request.namespace_name = context.namespace_name;
  request.pod = context.name;
  request.pod_uid = UidOf(*pod);
  auto container = ContainerFor(*pod, target.Get("container"));
  if (!container) return exchange.SendError(container.error());
  request.container = *std::move(container);
  request.previous = target.IsTrue("previous");
  request.timestamps = target.IsTrue("timestamps");
  if (auto error = ReadLogLimits(target, request)) return exchange.SendError(*error);
  if (!target.IsTrue("follow")) {
    auto text = logs_->Read(request);
    if (!text) return exchange.SendError(text.error());
    return exchange.SendText(kOk, "text/plain", std::move(*text));
  }
  request.may_restart = [this, key = context.key(), uid = request.pod_uid,
                         container = request.container] {
    const StoredPtr now = registry_.store().cache().Get(key);
    const Object known = now == nullptr ? nullptr : now->json();
    return known != nullptr && UidOf(*known) == uid && MayRestart(*known, container);
  };
  FollowLog(exchange, request);
}

// The stream owns the LogFollow, which ends with the connection or the container.
void ResourceHandlers::FollowLog(Exchange& exchange, const LogRequest& request) {
  // Keeps text that arrives before the stream has begun.
  struct Relay {
    std::mutex mutex;
    std::shared_ptr<net::Stream> stream;
    std::string early;
    bool ended = false;
    std::unique_ptr<LogFollow> follow;
  };
  auto relay = std::make_shared<Relay>();
  auto follow = logs_->Follow(
      request,
      [relay](std::string_view text) {
        const std::lock_guard lock(relay->mutex);
        if (relay->stream == nullptr) {
          relay->early += text;
          return true;
        }
        return relay->stream->Write(std::string(text));
      },
      [relay] {
        const std::lock_guard lock(relay->mutex);
        relay->ended = true;
        if (relay->stream != nullptr) relay->stream->Close();
      });
  if (!follow) return exchange.SendError(follow.error());
  const std::shared_ptr<net::Stream> stream = exchange.StartStream("text/plain");
  {
    const std::lock_guard lock(relay->mutex);
    relay->stream = stream;
    relay->follow = std::move(*follow);
    if (!relay->early.empty()) stream->Write(std::exchange(relay->early, {}));
    if (relay->ended) stream->Close();
  }
  stream->OnGone([relay] {
    std::unique_ptr<LogFollow> over;
    const std::lock_guard lock(relay->mutex);
    over = std::move(relay->follow);
    relay->stream.reset();
  });
}

void ResourceHandlers::Watch(Exchange& exchange, RequestContext& context) {
  const auto form = Negotiate(exchange.request.headers.Find("Accept"), Offer::kTransforms);
  if (!form) {
    return exchange.SendError({406, "NotAcceptable",
                               "only the following media types are accepted: application/json",
                               Json()});
  }
  auto query = ReadListQuery(exchange, *context.resource);
  if (!query) return exchange.SendError(query.error(), context.warnings);
  auto start = ReadWatchStart(exchange.target);
  if (!start) return exchange.SendError(start.error(), context.warnings);
  const WatchCache& cache = registry_.store().cache();
  WatchRequest request;
  request.send_state = start->send_state;
  request.end_of_state_bookmark = start->end_of_state_bookmark;
  request.bookmarks = start->bookmarks;
  request.from_revision = start->from_now ? cache.revision() : start->revision;
  request.timeout = WatchTimeout(exchange.target);
  if (!request.send_state && request.from_revision > cache.revision()) {
    return exchange.SendError(TooLargeRevisionStatus(request.from_revision, cache.revision()),
                              context.warnings);
  }
  if (!request.send_state &&
      cache.EventsAfter(context.resource->storage, request.from_revision, 1).state ==
          WatchCache::Changes::State::kExpired) {
    return exchange.SendError(
        ExpiredStatus("too old resource version: " + std::to_string(request.from_revision) + " (" +
                      std::to_string(cache.revision()) + ")"),
        context.warnings);
  }
  request.query = std::move(*query);
  request.render.form = *form;
  request.render.include_object = exchange.target.Get("includeObject");
  request.render.now = registry_.Now();
  const std::vector<std::string> warnings = std::exchange(context.warnings, {});
  request.context = context;
  watches_.Start(std::move(request), exchange.StartStream("application/json", warnings));
}

}  // namespace berth::local
