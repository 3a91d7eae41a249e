// Handlers of scale, binding, eviction and logs; watches.
#include <chrono>
#include <random>

#include "base/strings.h"
#include "local/apiserver/http/bodies.h"
#include "local/apiserver/http/list_parameters.h"
#include "local/apiserver/http/resource_handlers.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::int64_t kLongestWatchSeconds = 24 * 3600;

std::int64_t Number(const Target& target, std::string_view name, std::int64_t otherwise) {
  const auto number = ParseInt64(target.Get(name));
  return number && *number >= 0 ? *number : otherwise;
}

// Random, so that clients without a timeout do not all return at the same time.
Duration WatchTimeout(const Target& target) {
  const std::int64_t seconds = Number(target, "timeoutSeconds", 0);
  if (seconds > 0) return std::chrono::seconds(std::min(seconds, kLongestWatchSeconds));
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::chrono::seconds(1800 + static_cast<std::int64_t>(generator() % 1800));
}

std::string DefaultContainer(const Json& pod) {
  std::string chosen =
      TextAt(pod, {"metadata", "annotations", "kubectl.kubernetes.io/default-container"});
  if (!chosen.empty()) return chosen;
  const Json& containers = ArrayAt(pod, {"spec", "containers"});
  return containers.empty() ? std::string() : TextAt(containers[0], {"name"});
}

bool HasContainer(const Json& pod, const std::string& name) {
  for (const char* field : {"containers", "initContainers"}) {
    for (const Json& container : ArrayAt(pod, {"spec", field})) {
      if (TextAt(container, {"name"}) == name) return true;
    }
  }
  return false;
}

}  // namespace

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
  request.container = target.Get("container");
  if (request.container.empty()) request.container = DefaultContainer(*pod);
  if (!HasContainer(*pod, request.container)) {
    return exchange.SendError(
        BadRequest("container " + request.container + " is not valid for pod " + context.name));
  }
  request.previous = target.IsTrue("previous");
  request.timestamps = target.IsTrue("timestamps");
  request.tail_lines = Number(target, "tailLines", -1);
  request.limit_bytes = Number(target, "limitBytes", -1);
  request.since_seconds = Number(target, "sinceSeconds", -1);
  request.since_time = target.Get("sinceTime");
  if (!target.IsTrue("follow")) {
    auto text = logs_->Read(request);
    if (!text) return exchange.SendError(text.error());
    return exchange.SendText(kOk, "text/plain", std::move(*text));
  }
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
