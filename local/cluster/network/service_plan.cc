#include "local/cluster/network/service_plan.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

constexpr char kNoAddress[] = "None";

bool IsReadyPod(const Json& pod) { return ConditionIs(pod, "Ready", "True") && !IsDeleting(pod); }

bool SelectsPod(const Json& service, const Json& pod) {
  const Json* selector = Find(service, {"spec", "selector"});
  for (const auto& [key, value] : selector->items()) {
    const Json* label = Find(pod, {"metadata", "labels", key});
    if (label == nullptr || *label != value) return false;
  }
  return true;
}

// The number that the port has in this pod; 0: the pod has no port of that name.
std::int64_t TargetIn(const Json& pod, const Json& port) {
  const Json* target = Find(port, {"targetPort"});
  if (target == nullptr) return IntAt(port, {"port"});
  if (target->is_number_integer()) return target->get<std::int64_t>();
  for (const char* list : {"containers", "initContainers"}) {
    for (const Json& container : ArrayAt(pod, {"spec", list})) {
      for (const Json& one : ArrayAt(container, {"ports"})) {
        if (StringAt(one, {"name"}) == StringAt(*target, {})) return IntAt(one, {"containerPort"});
      }
    }
  }
  return 0;
}

// The ports of the Service in this pod; those that it lacks are left out.
Json PortsIn(const Json& service, const Json& pod) {
  Json ports = Json::array();
  for (const Json& port : ArrayAt(service, {"spec", "ports"})) {
    const std::int64_t number = TargetIn(pod, port);
    if (number <= 0) continue;
    Json one = {{"port", number}, {"protocol", StringAt(port, {"protocol"}, "TCP")}};
    if (const std::string name = StringAt(port, {"name"}); !name.empty()) one["name"] = name;
    ports.push_back(std::move(one));
  }
  return ports;
}

Json AddressOf(const Json& service, const Json& pod) {
  Json address = {{"ip", StringAt(pod, {"status", "podIP"})},
                  {"nodeName", StringAt(pod, {"spec", "nodeName"})},
                  {"targetRef",
                   {{"kind", "Pod"},
                    {"namespace", NamespaceOf(pod)},
                    {"name", NameOf(pod)},
                    {"uid", UidOf(pod)}}}};
  const std::string hostname = StringAt(pod, {"spec", "hostname"});
  if (!hostname.empty() && StringAt(pod, {"spec", "subdomain"}) == NameOf(service)) {
    address["hostname"] = hostname;
  }
  return address;
}

Json OwnedBy(const Json& service) {
  return Json::array({{{"apiVersion", "v1"},
                       {"kind", "Service"},
                       {"name", NameOf(service)},
                       {"uid", UidOf(service)},
                       {"controller", true},
                       {"blockOwnerDeletion", true}}});
}

Json SliceEndpoint(const Json& address, bool ready) {
  Json endpoint = {{"addresses", Json::array({address["ip"]})},
                   {"conditions", {{"ready", ready}, {"serving", ready}, {"terminating", false}}}};
  for (const char* copied : {"nodeName", "targetRef", "hostname"}) {
    if (address.contains(copied)) endpoint[copied] = address[copied];
  }
  return endpoint;
}

// "db-main" becomes DB_MAIN.
std::string VariableName(std::string name) {
  for (char& c : name) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

// What begins with "NAME.NAMESPACE", in all its forms.
std::vector<std::string> FormsOf(const std::string& name) {
  return {name + ".svc.cluster.local", name + ".svc", name};
}

}  // namespace

bool IsHeadless(const Json& service) {
  return StringAt(service, {"spec", "clusterIP"}) == kNoAddress;
}

bool HasSelector(const Json& service) {
  const Json* selector = Find(service, {"spec", "selector"});
  return selector != nullptr && selector->is_object() && !selector->empty();
}

Json PlanEndpoints(const Json& service, const std::vector<Object>& pods) {
  const bool publishes_all = BoolAt(service, {"spec", "publishNotReadyAddresses"});
  std::map<Json, std::pair<Json, Json>> addresses_by_ports;  // ready and not
  for (const Object& pod : pods) {
    const bool is_there = !HasEnded(*pod) && !StringAt(*pod, {"status", "podIP"}).empty();
    if (!is_there || !SelectsPod(service, *pod)) continue;
    Json ports = PortsIn(service, *pod);
    if (ports.empty() && !IsHeadless(service)) continue;
    auto& [ready, waiting] = addresses_by_ports[std::move(ports)];
    const bool is_ready = IsReadyPod(*pod) || publishes_all;
    (is_ready ? ready : waiting).push_back(AddressOf(service, *pod));
  }
  Json subsets = Json::array();
  for (auto& [ports, addresses] : addresses_by_ports) {
    Json subset = Json::object();
    if (!addresses.first.empty()) subset["addresses"] = std::move(addresses.first);
    if (!addresses.second.empty()) subset["notReadyAddresses"] = std::move(addresses.second);
    if (!ports.empty()) subset["ports"] = ports;
    subsets.push_back(std::move(subset));
  }
  return subsets;
}

Json MakeEndpoints(const Json& service, const Json& subsets) {
  Json endpoints = {{"apiVersion", "v1"},
                    {"kind", "Endpoints"},
                    {"metadata",
                     {{"name", NameOf(service)},
                      {"namespace", NamespaceOf(service)},
                      {"labels", {{"endpoints.kubernetes.io/managed-by", "endpoint-controller"}}},
                      {"ownerReferences", OwnedBy(service)}}}};
  if (!subsets.empty()) endpoints["subsets"] = subsets;
  return endpoints;
}

std::vector<Json> PlanSlices(const Json& service, const Json& subsets) {
  std::vector<Json> slices;
  for (const Json& subset : subsets) {
    Json slice = {
        {"apiVersion", "discovery.k8s.io/v1"},
        {"kind", "EndpointSlice"},
        {"metadata",
         {{"name", NameOf(service) + "-" + std::to_string(slices.size())},
          {"namespace", NamespaceOf(service)},
          {"labels",
           {{"kubernetes.io/service-name", NameOf(service)},
            {"endpointslice.kubernetes.io/managed-by", "endpointslice-controller.k8s.io"}}},
          {"ownerReferences", OwnedBy(service)}}},
        {"addressType", "IPv4"},
        {"endpoints", Json::array()},
        {"ports", Json::array()}};
    for (const Json& one : ArrayAt(subset, {"addresses"})) {
      slice["endpoints"].push_back(SliceEndpoint(one, true));
    }
    for (const Json& one : ArrayAt(subset, {"notReadyAddresses"})) {
      slice["endpoints"].push_back(SliceEndpoint(one, false));
    }
    for (const Json& port : ArrayAt(subset, {"ports"})) {
      Json one = port;
      if (!one.contains("name")) one["name"] = "";
      slice["ports"].push_back(std::move(one));
    }
    slices.push_back(std::move(slice));
  }
  return slices;
}

std::vector<ServiceRoute> RoutesOf(const Json& service, const Json& subsets) {
  std::vector<ServiceRoute> routes;
  const std::string address = StringAt(service, {"spec", "clusterIP"});
  if (address.empty() || address == kNoAddress) return routes;
  for (const Json& port : ArrayAt(service, {"spec", "ports"})) {
    if (StringAt(port, {"protocol"}, "TCP") != "TCP") continue;
    ServiceRoute route{address, static_cast<std::uint16_t>(IntAt(port, {"port"})), {}};
    for (const Json& subset : subsets) {
      for (const Json& target : ArrayAt(subset, {"ports"})) {
        if (StringAt(target, {"name"}) != StringAt(port, {"name"})) continue;
        for (const Json& one : ArrayAt(subset, {"addresses"})) {
          route.backends.push_back(
              {StringAt(one, {"ip"}), static_cast<std::uint16_t>(IntAt(target, {"port"}))});
        }
      }
    }
    if (!route.backends.empty()) routes.push_back(std::move(route));
  }
  return routes;
}

std::vector<HostsLine> NamesOf(const Json& service, const Json& subsets) {
  std::vector<HostsLine> lines;
  const std::string own = NameOf(service);
  const std::string whole = own + "." + NamespaceOf(service);
  const std::string address = StringAt(service, {"spec", "clusterIP"});
  if (!address.empty() && address != kNoAddress) {
    lines.push_back({address, FormsOf(whole), {own}});
    return lines;
  }
  if (!IsHeadless(service)) return lines;
  for (const Json& subset : subsets) {
    for (const Json& one : ArrayAt(subset, {"addresses"})) {
      HostsLine line{StringAt(one, {"ip"}), FormsOf(whole), {own}};
      if (const std::string hostname = StringAt(one, {"hostname"}); !hostname.empty()) {
        for (std::string& name : FormsOf(hostname + "." + whole)) {
          line.names.push_back(std::move(name));
        }
        line.short_names.push_back(hostname + "." + own);
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<std::pair<std::string, std::string>> LinksTo(const std::vector<Object>& services) {
  std::vector<std::pair<std::string, std::string>> links;
  for (const Object& service : services) {
    const std::string address = StringAt(*service, {"spec", "clusterIP"});
    const Json& ports = ArrayAt(*service, {"spec", "ports"});
    if (address.empty() || address == kNoAddress || ports.empty()) continue;
    const std::string name = VariableName(NameOf(*service));
    const std::string first = std::to_string(IntAt(ports[0], {"port"}));
    links.emplace_back(name + "_SERVICE_HOST", address);
    links.emplace_back(name + "_SERVICE_PORT", first);
    for (const Json& port : ports) {
      const std::string number = std::to_string(IntAt(port, {"port"}));
      const std::string protocol = StringAt(port, {"protocol"}, "TCP");
      const std::string url = ToLower(protocol) + "://" + address + ":" + number;
      const std::string prefix = name + "_PORT_" + number + "_" + protocol;
      if (&port == &ports[0]) links.emplace_back(name + "_PORT", url);
      if (const std::string own = StringAt(port, {"name"}); !own.empty()) {
        links.emplace_back(name + "_SERVICE_PORT_" + VariableName(own), number);
      }
      links.emplace_back(prefix, url);
      links.emplace_back(prefix + "_PROTO", ToLower(protocol));
      links.emplace_back(prefix + "_PORT", number);
      links.emplace_back(prefix + "_ADDR", address);
    }
  }
  return links;
}

std::vector<std::pair<std::string, std::string>> ApiVariables(const std::string& url) {
  const std::size_t host = url.find("://");
  const std::size_t colon = url.rfind(':');
  if (host == std::string::npos || colon <= host) return {};
  const auto port = ParseInt64(url.substr(colon + 1));
  if (!port) return {};
  std::string address = url.substr(host + 3, colon - host - 3);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  const Json service = {
      {"metadata", {{"name", "kubernetes"}}},
      {"spec",
       {{"clusterIP", address}, {"ports", Json::array({{{"name", "https"}, {"port", *port}}})}}}};
  return LinksTo({std::make_shared<const Json>(service)});
}

std::string HostNameOf(const Json& pod) {
  constexpr std::size_t kLongest = 63;
  std::string name = StringAt(pod, {"spec", "hostname"}, NameOf(pod)).substr(0, kLongest);
  while (name.ends_with('-') || name.ends_with('.')) name.pop_back();
  return name;
}

bool UsesPodNetwork(const Json& pod, bool has_services) {
  if (BoolAt(pod, {"spec", "hostNetwork"})) return false;
  const Json* owner = ControllerRef(pod);
  if (has_services || owner == nullptr || StringAt(*owner, {"kind"}) != "Job") return true;
  const Json& containers = ArrayAt(pod, {"spec", "containers"});
  return std::any_of(containers.begin(), containers.end(),
                     [](const Json& container) { return !ArrayAt(container, {"ports"}).empty(); });
}

}  // namespace berth::local::cluster
