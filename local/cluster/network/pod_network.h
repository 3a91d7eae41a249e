// local/cluster/network/pod_network.h — the network that pods' programs see: addresses, names, and
// the balancer behind the addresses of Services.
//
// Nothing is opened until a Service has endpoints, and no file is made until a pod starts.
//
// Threads: one; the balancer has a thread of its own.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/cluster/network/hosts_table.h"
#include "local/cluster/network/loopback_network.h"
#include "local/cluster/network/service_plan.h"
#include "local/cluster/process_host.h"
#include "net/io_pool.h"
#include "net/tcp_relay.h"

namespace berth::local::cluster {

class PodNetwork {
 public:
  // `prefix`: of LoopbackNetwork. `folder`: of the hosts files.
  PodNetwork(std::string prefix, std::string folder);
  ~PodNetwork();
  PodNetwork(const PodNetwork&) = delete;
  PodNetwork& operator=(const PodNetwork&) = delete;

  PodAddresses& addresses() { return addresses_; }

  // What programs of the pod get; null: the machine's network.
  std::optional<ProcessNetwork> For(const Json& pod, const std::string& address);
  // The pod has ended: gives back its address and its names.
  void Release(const std::string& uid);

  // Replaces the routes and names of one Service; a refused address is logged and tried again with
  // the next call. Returns false then.
  bool SetService(const Object& service, const std::vector<ServiceRoute>& routes,
                  std::vector<HostsLine> lines);
  // The variables of the Services in a namespace (LinksTo).
  std::vector<std::pair<std::string, std::string>> LinksIn(const std::string& namespace_name) const;
  void RemoveService(const std::string& namespace_name, const std::string& name);

 private:
  using Endpoint = std::pair<std::string, std::uint16_t>;
  using Relays = std::map<Endpoint, std::unique_ptr<net::TcpRelay>>;

  PodAddresses addresses_;
  HostsTable hosts_;
  std::unique_ptr<net::IoPool> pool_;
  std::map<std::string, Relays> relays_by_service_;
  std::map<std::string, std::map<std::string, Object>> services_by_namespace_;
};

}  // namespace berth::local::cluster
