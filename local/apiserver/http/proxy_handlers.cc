#include "local/apiserver/http/proxy_handlers.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/status_errors.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/apiserver/schema/selector.h"

namespace berth::local {

namespace {

constexpr int kHttpPort = 80;
const ResourceId kPodId{"", "v1", "pods"};
const ResourceId kServiceId{"", "v1", "services"};
const ResourceId kSliceId{"discovery.k8s.io", "v1", "endpointslices"};

ApiError ProxyRefusal(std::string message) {
  return {400, "BadRequest", std::move(message), nullptr};
}

std::optional<std::uint16_t> PortNumber(std::string_view text) {
  const auto number = ParseInt64(text);
  if (!number || !IsPortNumber(*number)) return std::nullopt;
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

ProxyHandlers::ProxyHandlers(Registry& registry)
    : registry_(registry), calls_(std::make_shared<PassedCalls>()) {}

ProxyHandlers::~ProxyHandlers() { calls_->Stop(); }

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
      [kept = exchange.shared_from_this(), calls = std::weak_ptr<PassedCalls>(calls_), pool, prefix,
       port = endpoint->port, rest = std::string(rest)](const ApiResult<std::string>& address) {
        const auto alive = calls.lock();
        if (alive == nullptr) return;
        if (!address) return kept->SendError(NotReached(address.error().message));
        net::ClientOptions to;
        to.base_url = "http://" + *address + ":" + std::to_string(port);
        to.max_connections = 1;
        auto made = net::HttpClient::Create(*pool, std::move(to));
        if (!made) return kept->SendError(UnavailableStatus(made.error().message));
        const bool is_path = !rest.empty() && rest.front() == '/';
        alive->Send(kept, *std::move(made), PassedRequest(*kept, is_path ? rest : "/" + rest),
                    prefix);
      });
}

}  // namespace berth::local
