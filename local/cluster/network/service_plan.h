// local/cluster/network/service_plan.h — the plan of a Service: its endpoints, the addresses that a
// balancer serves, and its names.
//
//     Service + pods  --PlanEndpoints-->  subsets of Endpoints  --RoutesOf-->  address:port → pods
//                                              └──PlanSlices──▶ EndpointSlices
//
// Pure. Source: Kubernetes "Service", "EndpointSlices", "DNS for Services and Pods".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "local/apiserver/api.h"
#include "local/cluster/network/hosts_line.h"

namespace berth::local::cluster {

struct ServiceBackend {
  std::string address;
  std::uint16_t port = 0;
  friend bool operator==(const ServiceBackend&, const ServiceBackend&) = default;
};

// One port of a Service, TCP alone.
struct ServiceRoute {
  std::string address;
  std::uint16_t port = 0;
  std::vector<ServiceBackend> backends;
  friend bool operator==(const ServiceRoute&, const ServiceRoute&) = default;
};

bool IsHeadless(const Json& service);
bool HasSelector(const Json& service);  // false: people write its Endpoints

// The member `subsets` of the Service's Endpoints; `pods` are those of its namespace.
Json PlanEndpoints(const Json& service, const std::vector<Object>& pods);

// The whole Endpoints object, and the EndpointSlices; they belong to the Service.
Json MakeEndpoints(const Json& service, const Json& subsets);
std::vector<Json> PlanSlices(const Json& service, const Json& subsets);

// Routes with at least one backend; none for a headless Service.
std::vector<ServiceRoute> RoutesOf(const Json& service, const Json& subsets);

// The names of the Service, and of pods that a headless Service gives names.
std::vector<HostsLine> NamesOf(const Json& service, const Json& subsets);

// The variables of enableServiceLinks: NAME_SERVICE_HOST, NAME_PORT_80_TCP, …; `services` are those
// of the pod's namespace. Headless Services have none.
std::vector<std::pair<std::string, std::string>> LinksTo(const std::vector<Object>& services);

// The variables by which clients in a cluster find the API at `url` ("https://127.0.0.1:6443"), as
// those of a Service "kubernetes"; none if the URL has no port.
std::vector<std::pair<std::string, std::string>> ApiVariables(const std::string& url);

// The host name of the pod's programs: spec.hostname or the pod's name, 63 characters at most.
std::string HostNameOf(const Json& pod);

// Whether the pod's programs see addresses and names of the cluster. Pods of Jobs do if they name a
// port, or if Services exist; all others do unless they use the machine's network.
bool UsesPodNetwork(const Json& pod, bool has_services);

}  // namespace berth::local::cluster
