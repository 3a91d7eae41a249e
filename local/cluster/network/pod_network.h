// local/cluster/network/pod_network.h — the network that pods' programs see: addresses, names, and
// the balancer behind the addresses of Services.
//
// Nothing is opened until a Service has endpoints, and no file is made until a pod starts.
//
// Threads: one; the balancer has a thread of its own.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "local/cluster/network/hosts_table.h"
#include "local/cluster/network/loopback_network.h"
#include "local/cluster/network/service_plan.h"
#include "local/cluster/processes/process_host.h"
#include "net/io_pool.h"
#include "net/tcp_relay.h"

namespace berth::local::cluster {

class PodNetwork {
 public:
  // The most ports that are served, each with a listener of its own (an open file).
  struct Limits {
    std::size_t of_service = 256;
    std::size_t of_namespace = 512;
    std::size_t of_all = 2048;
  };

  // `prefix` is LoopbackNetwork::prefix; `folder` is for the hosts files.
  PodNetwork(std::string prefix, std::string folder) : PodNetwork(prefix, folder, Limits()) {}
  PodNetwork(std::string prefix, std::string folder, Limits limits);
  ~PodNetwork();
  PodNetwork(const PodNetwork&) = delete;
  PodNetwork& operator=(const PodNetwork&) = delete;

  PodAddresses& addresses() { return addresses_; }

  // The network of the pod's programs; nullopt: the machine's network.
  std::optional<ProcessNetwork> For(const Json& pod, const std::string& address);
  // The pod has ended: gives back its address and its names.
  void Release(const std::string& uid);

  struct Served {
    bool all = true;      // false: an address was refused, which is logged
    std::string refusal;  // the limit above which ports are not served; "": none
  };
  // Replaces the routes and names of one Service. Addresses that are not served are tried again
  // with the next call. Ports are served in the order of `routes`.
  Served SetService(const Object& service, const std::vector<ServiceRoute>& routes,
                    std::vector<HostsLine> lines);
  // The variables of the Services in a namespace (LinksTo).
  std::vector<std::pair<std::string, std::string>> LinksIn(const std::string& namespace_name) const;
  void RemoveService(const std::string& namespace_name, const std::string& name);

 private:
  using Endpoint = std::pair<std::string, std::uint16_t>;
  using Relays = std::map<Endpoint, std::unique_ptr<net::TcpRelay>>;

  // The limit that one more listener of the Service would exceed; "": none.
  std::string ExceededLimit(const std::string& namespace_name, std::size_t of_service) const;
  void CountListeners(const std::string& namespace_name, std::size_t before, std::size_t now);

  PodAddresses addresses_;
  HostsTable hosts_;
  std::unique_ptr<net::IoPool> pool_;
  const Limits limits_;
  std::map<std::string, Relays> relays_by_service_;
  std::map<std::string, std::size_t> listeners_by_namespace_;
  std::size_t listeners_ = 0;
  std::map<std::string, std::map<std::string, Object>> services_by_namespace_;
};

}  // namespace berth::local::cluster
