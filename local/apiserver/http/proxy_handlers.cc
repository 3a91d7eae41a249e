#include "local/apiserver/http/proxy_handlers.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "base/strings.h"
#include "base/system_clock.h"
#include "local/apiserver/http/collected_answer.h"
#include "local/apiserver/http/share.h"
#include "local/apiserver/registry/errors.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {

// The requests that are on their way. Their clients end before the pool of threads does.
struct ProxyHandlers::Calls {
  static constexpr std::size_t kMost = 64;
  struct Call {
    std::string user;
    std::shared_ptr<net::HttpClient> client;
    std::unique_ptr<net::StreamHandle> answer;  // ends before the client
  };

  // 0: too many, in all or of the user.
  std::int64_t Add(std::shared_ptr<net::HttpClient> client, const std::string& user) {
    const std::lock_guard lock(mutex);
    const auto held = std::count_if(calls.begin(), calls.end(),
                                    [&](const auto& each) { return each.second.user == user; });
    if (!HasShare(static_cast<std::size_t>(held), calls.size(), kMost)) return 0;
    calls[++last] = {user, std::move(client), nullptr};
    return last;
  }
  void SetAnswer(std::int64_t call, std::unique_ptr<net::StreamHandle> answer) {
    const std::lock_guard lock(mutex);
    const auto found = calls.find(call);
    if (found != calls.end()) found->second.answer = std::move(answer);
  }
  Call Take(std::int64_t call) {
    const std::lock_guard lock(mutex);
    auto node = calls.extract(call);
    return node.empty() ? Call{} : std::move(node.mapped());
  }

  const std::shared_ptr<AnswerRoom> room = std::make_shared<AnswerRoom>();
  std::mutex mutex;
  std::map<std::int64_t, Call> calls;
  std::int64_t last = 0;
};

namespace {

constexpr std::chrono::seconds kProxyTimeout{60};
constexpr int kHttpPort = 80;
const ResourceId kPodId{"", "v1", "pods"};
const ResourceId kServiceId{"", "v1", "services"};
const ResourceId kSliceId{"discovery.k8s.io", "v1", "endpointslices"};

ApiError ProxyRefusal(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

ApiError NotReached(const std::string& why) {
  return UnavailableStatus("error trying to reach service: " + why);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Of one connection alone (RFC 9110, 7.6.1), or written anew by this server.
bool IsOfConnection(const std::string& name, const std::set<std::string>& named) {
  static const std::set<std::string> kNames{
      "connection",         "keep-alive", "proxy-connection", "te",   "trailer",
      "transfer-encoding",  "upgrade",    "content-length",   "host", "proxy-authenticate",
      "proxy-authorization"};
  return kNames.contains(name) || named.contains(name);
}

// Who asks is this server's affair alone.
bool IsCredential(const std::string& name) {
  return name == "authorization" || name.starts_with("impersonate-") ||
         name.starts_with("x-remote-");
}

std::set<std::string> NamedByConnection(const net::Headers& headers) {
  std::set<std::string> names;
  for (const std::string_view name : Split(headers.Find("Connection"), ',')) {
    std::string lower = LowerCase(name);
    std::erase(lower, ' ');
    names.insert(std::move(lower));
  }
  return names;
}

net::Request Forwarded(const Exchange& exchange, std::string_view rest) {
  const net::Request& from = exchange.request;
  net::Request request;
  request.method = from.method;
  request.target =
      rest.empty() || rest.front() != '/' ? "/" + std::string(rest) : std::string(rest);
  request.body = from.body;
  const std::set<std::string> named = NamedByConnection(from.headers);
  for (const net::Header& header : from.headers) {
    const std::string name = LowerCase(header.name);
    if (IsOfConnection(name, named) || IsCredential(name)) continue;
    request.headers.Add(header.name, header.value);
  }
  request.headers.Set("X-Forwarded-For", from.peer_address.substr(0, from.peer_address.rfind(':')));
  request.headers.Set("X-Forwarded-Host", std::string(from.headers.Find("Host")));
  request.headers.Set("X-Forwarded-Proto", "https");
  request.headers.Set("X-Forwarded-Uri", std::string(from.target.substr(0, from.target.find('?'))));
  return request;
}

// `prefix`: the path up to …/proxy, in front of a path of a redirection.
net::Response Returned(net::Response&& from, const std::string& prefix,
                       const std::string& audit_id) {
  net::Response response;
  response.status = from.status;
  response.body = std::move(from.body);
  const std::set<std::string> named = NamedByConnection(from.headers);
  for (const net::Header& header : from.headers) {
    const std::string name = LowerCase(header.name);
    if (IsOfConnection(name, named) || name == "set-cookie") continue;
    const bool is_path = name == "location" && header.value.starts_with('/');
    response.headers.Add(header.name, is_path ? prefix + header.value : header.value);
  }
  response.headers.Set("Audit-Id", audit_id);
  return response;
}

std::optional<std::uint16_t> PortNumber(std::string_view text) {
  const auto number = ParseInt64(text);
  if (!number || *number < 1 || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

// The name of the Service's port that is asked for; null: there is none.
const Json* PortOf(const Json& service, const std::string& asked) {
  const Json& ports = ArrayAt(service, {"spec", "ports"});
  if (asked.empty()) return ports.size() == 1 ? &ports[0] : nullptr;
  for (const Json& port : ports) {
    if (TextAt(port, {"name"}) == asked) return &port;
    if (std::to_string(IntAt(port, {"port"}, 0)) == asked) return &port;
  }
  return nullptr;
}

bool IsReadyEndpoint(const Json& endpoint) {
  const Json* ready = At(endpoint, {"conditions", "ready"});
  return ready == nullptr || *ready != false;
}

}  // namespace

std::optional<ProxyName> ParseProxyName(std::string_view text) {
  const auto parts = Split(text, ':');
  ProxyName parsed;
  if (parts.size() > 3) return std::nullopt;
  if (parts.size() == 3) parsed.scheme = std::string(parts[0]);
  parsed.name = std::string(parts[parts.size() == 3 ? 1 : 0]);
  if (parts.size() > 1) parsed.port = std::string(parts.back());
  const bool is_scheme =
      parsed.scheme.empty() || parsed.scheme == "http" || parsed.scheme == "https";
  return parsed.name.empty() || !is_scheme ? std::nullopt : std::optional(std::move(parsed));
}

std::string_view ProxyRest(std::string_view target) {
  constexpr int kParts = 7;  // /api/v1/namespaces/NS/pods/NAME/proxy
  std::size_t at = 0;
  for (int part = 0; part < kParts; ++part) {
    at = target.find_first_of("/?", at + 1);
    if (at == std::string_view::npos) return {};
    if (target[at] == '?') break;
  }
  return target.substr(at);
}

// One call: its answer is collected and given to the caller, or refused, once.
struct ProxyHandlers::Passing : std::enable_shared_from_this<ProxyHandlers::Passing> {
  Passing(std::shared_ptr<Exchange> the_exchange, std::weak_ptr<Calls> the_calls, std::int64_t id,
          std::shared_ptr<AnswerRoom> room, std::string the_prefix)
      : exchange(std::move(the_exchange)),
        calls(std::move(the_calls)),
        call(id),
        prefix(std::move(the_prefix)),
        answer(std::move(room), SystemClock().SteadyNow()) {}

  std::unique_ptr<net::StreamHandle> Open(net::HttpClient& client, net::Request request) {
    const auto self = shared_from_this();
    return client.Open(
        std::move(request), kProxyTimeout,
        {.on_head = [self](int status,
                           const net::Headers& headers) { self->answer.SetHead(status, headers); },
         .on_data =
             [self](std::string_view piece) {
               if (self->is_over) return;
               if (auto error = self->answer.Add(piece, SystemClock().SteadyNow())) {
                 self->Refuse(*error);
               }
             },
         .on_end =
             [self](const Status& status) {
               if (self->is_over) return;
               if (!status) return self->Refuse(NotReached(status.error().message));
               self->exchange->responder->Send(
                   Returned(self->answer.Take(), self->prefix, self->exchange->audit_id));
               self->End();
             }});
  }

  void Refuse(const ApiError& error) {
    exchange->SendError(error);
    End();
  }
  void End() {
    is_over = true;
    if (const auto there = calls.lock()) there->Take(call);
  }

  const std::shared_ptr<Exchange> exchange;
  const std::weak_ptr<Calls> calls;
  const std::int64_t call;
  const std::string prefix;
  CollectedAnswer answer;
  bool is_over = false;
};

ProxyHandlers::ProxyHandlers(Registry& registry)
    : registry_(registry), calls_(std::make_shared<Calls>()) {}

ProxyHandlers::~ProxyHandlers() {
  std::map<std::int64_t, Calls::Call> calls;
  const std::lock_guard lock(calls_->mutex);
  calls.swap(calls_->calls);
}

ApiResult<Object> ProxyHandlers::Find(const RequestContext& context, const ResourceId& resource,
                                      const std::string& name) {
  RequestContext reading = context;
  reading.resource = context.table->Find(resource);
  reading.subresource.clear();
  reading.name = name;
  auto stored = registry_.Get(reading);
  if (!stored) return stored.error();
  Object object = (*stored)->json();
  if (object == nullptr) return InternalStatus("the object cannot be read");
  return object;
}

ApiResult<ProxyHandlers::Endpoint> ProxyHandlers::PodEndpoint(const RequestContext& context,
                                                              const ProxyName& name) {
  const auto pod = Find(context, kPodId, name.name);
  if (!pod) return pod.error();
  Endpoint endpoint{{context.namespace_name, name.name, UidOf(**pod)}, kHttpPort};
  if (!name.port.empty()) {
    const auto port = PortNumber(name.port);
    if (!port) return ProxyRefusal("\"" + name.port + "\" is no port from 1 to 65535");
    endpoint.port = *port;
    return endpoint;
  }
  for (const Json& container : ArrayAt(**pod, {"spec", "containers"})) {
    const Json& ports = ArrayAt(container, {"ports"});
    if (ports.empty()) continue;
    endpoint.port = static_cast<std::uint16_t>(IntAt(ports[0], {"containerPort"}, kHttpPort));
    break;
  }
  return endpoint;
}

ApiResult<ProxyHandlers::Endpoint> ProxyHandlers::ServiceEndpoint(const RequestContext& context,
                                                                  const ProxyName& name) {
  const auto service = Find(context, kServiceId, name.name);
  if (!service) return service.error();
  const Json* wanted = PortOf(**service, name.port);
  if (wanted == nullptr) {
    return UnavailableStatus("no endpoints available for service \"" + name.name + "\"");
  }
  RequestContext reading = context;
  reading.resource = context.table->Find(kSliceId);
  reading.subresource.clear();
  reading.name.clear();
  ReadQuery query;
  if (auto selector = ParseLabelSelector("kubernetes.io/service-name=" + name.name)) {
    query.labels = *selector;
  }
  const auto slices = registry_.List(reading, query);
  if (!slices) return slices.error();
  for (const StoredPtr& stored : slices->items) {
    const Object slice = stored->json();
    if (slice == nullptr) continue;
    for (const Json& port : ArrayAt(*slice, {"ports"})) {
      if (TextAt(port, {"name"}) != TextAt(*wanted, {"name"})) continue;
      for (const Json& endpoint : ArrayAt(*slice, {"endpoints"})) {
        if (!IsReadyEndpoint(endpoint) || TextAt(endpoint, {"targetRef", "kind"}) != "Pod")
          continue;
        // The pod of that name in the Service's namespace, whatever else the slice says.
        const std::string pod_name = TextAt(endpoint, {"targetRef", "name"});
        const auto pod = Find(context, kPodId, pod_name);
        if (!pod) continue;
        return Endpoint{{context.namespace_name, pod_name, UidOf(**pod)},
                        static_cast<std::uint16_t>(IntAt(port, {"port"}, kHttpPort))};
      }
    }
  }
  return UnavailableStatus("no endpoints available for service \"" + name.name + "\"");
}

void ProxyHandlers::Handle(Exchange& exchange, RequestContext& context,
                           std::shared_ptr<PodStreams> streams, net::IoPool* pool) {
  if (streams == nullptr || pool == nullptr) {
    return exchange.SendError(
        UnavailableStatus("nothing runs pods here, so no program can be reached"));
  }
  const auto name = ParseProxyName(context.name);
  if (!name) return exchange.SendError(ProxyRefusal("write NAME, NAME:PORT or http:NAME:PORT"));
  if (name->scheme == "https") {
    return exchange.SendError(
        ProxyRefusal("https is not served: the certificate of a pod is unknown"));
  }
  if (!exchange.request.headers.Find("Upgrade").empty()) {
    return exchange.SendError(
        ProxyRefusal("an upgraded connection is not passed on: use kubectl port-forward"));
  }
  const bool is_pod = context.resource->storage == "pods";
  const auto endpoint = is_pod ? PodEndpoint(context, *name) : ServiceEndpoint(context, *name);
  if (!endpoint) return exchange.SendError(endpoint.error());
  const std::string_view rest = ProxyRest(exchange.request.target);
  Json options{{"apiVersion", "v1"},
               {"kind", is_pod ? "PodProxyOptions" : "ServiceProxyOptions"},
               {"path", std::string(rest.substr(0, rest.find('?')))}};
  if (auto error = registry_.AdmitConnect(context, std::move(options))) {
    return exchange.SendError(*error, context.warnings);
  }
  const std::string& target = exchange.request.target;
  const std::string prefix = target.substr(0, target.size() - rest.size());
  streams->FindPort(
      endpoint->place, endpoint->port,
      [kept = exchange.shared_from_this(), calls = std::weak_ptr<Calls>(calls_), pool, prefix,
       port = endpoint->port, rest = std::string(rest)](const ApiResult<std::string>& address) {
        const auto alive = calls.lock();
        if (alive == nullptr) return;
        if (!address) return kept->SendError(NotReached(address.error().message));
        net::ClientOptions to;
        to.base_url = "http://" + *address + ":" + std::to_string(port);
        to.max_connections = 1;
        auto made = net::HttpClient::Create(*pool, std::move(to));
        if (!made) return kept->SendError(UnavailableStatus(made.error().message));
        const std::shared_ptr<net::HttpClient> client = *std::move(made);
        const std::int64_t call = alive->Add(client, kept->user.name);
        if (call == 0) {
          return kept->SendError({429,
                                  "TooManyRequests",
                                  "too many requests are being passed on",
                                  {{"retryAfterSeconds", 1}}});
        }
        auto passing = std::make_shared<Passing>(kept, calls, call, alive->room, prefix);
        alive->SetAnswer(call, passing->Open(*client, Forwarded(*kept, rest)));
      });
}

}  // namespace berth::local
