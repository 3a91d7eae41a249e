#include "local/cluster/network/pod_network.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/log/log.h"
#include "local/cluster/network/api_service.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

std::string MachineHosts() {
  std::ifstream file("/etc/hosts", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The pod's own name and the names that its spec gives, as lines of a hosts file.
std::string OwnLines(const Json& pod, const std::string& address) {
  const std::string host = HostNameOf(pod);
  std::string text = address;
  if (const std::string domain = StringAt(pod, {"spec", "subdomain"}); !domain.empty()) {
    text += " " + host + "." + domain + "." + NamespaceOf(pod) + ".svc.cluster.local";
  }
  text += " " + host + "\n";
  for (const Json& alias : ArrayAt(pod, {"spec", "hostAliases"})) {
    std::string names;
    for (const Json& name : ArrayAt(alias, {"hostnames"})) names += " " + StringAt(name, {});
    if (!names.empty()) text += StringAt(alias, {"ip"}) + names + "\n";
  }
  return text;
}

std::string OwnerKey(const std::string& namespace_name, const std::string& name) {
  return namespace_name + "/" + name;
}

}  // namespace

// Files of an earlier life are nobody's.
PodNetwork::PodNetwork(std::string prefix, std::string folder, Limits limits)
    : addresses_(std::move(prefix)), hosts_(folder, MachineHosts()), limits_(limits) {
  std::error_code error;
  std::filesystem::remove_all(folder, error);
}

// Relays end before their pool.
PodNetwork::~PodNetwork() {
  relays_by_service_.clear();
  if (pool_ != nullptr) pool_->Stop();
}

std::optional<ProcessNetwork> PodNetwork::For(const Json& pod, const std::string& address) {
  const std::size_t of_api = relays_by_service_.count(OwnerKey(kApiNamespace, kApiService));
  const bool is_whole = UsesPodNetwork(pod, relays_by_service_.size() > of_api);
  if (!is_whole && (of_api == 0 || BoolAt(pod, {"spec", "hostNetwork"}))) return std::nullopt;
  const Result<std::string> hosts =
      hosts_.FileOf(NamespaceOf(pod), UidOf(pod), OwnLines(pod, address));
  if (!hosts) {
    LogWarning("a pod runs without names of Services", {{"error", hosts.error().message}});
    return std::nullopt;
  }
  if (!is_whole) return ProcessNetwork{*hosts, "", ""};
  return ProcessNetwork{*hosts, address, HostNameOf(pod)};
}

void PodNetwork::Release(const std::string& uid) {
  addresses_.GiveBack(uid);
  hosts_.RemoveFile(uid);
}

std::vector<std::pair<std::string, std::string>> PodNetwork::LinksIn(
    const std::string& namespace_name) const {
  const auto found = services_by_namespace_.find(namespace_name);
  if (found == services_by_namespace_.end()) return {};
  std::vector<Object> services;
  for (const auto& [name, service] : found->second) services.push_back(service);
  return LinksTo(services);
}

std::string PodNetwork::ExceededLimit(const std::string& namespace_name,
                                      std::size_t of_service) const {
  const auto known = listeners_by_namespace_.find(namespace_name);
  const std::size_t of_namespace = known == listeners_by_namespace_.end() ? 0 : known->second;
  const auto text = [](std::size_t limit, const std::string& of) {
    return "at most " + std::to_string(limit) + " TCP ports of " + of + " are served";
  };
  if (of_service >= limits_.of_service) return text(limits_.of_service, "a Service");
  if (of_namespace >= limits_.of_namespace) {
    return text(limits_.of_namespace, "all Services in a namespace");
  }
  return listeners_ >= limits_.of_all ? text(limits_.of_all, "all Services") : "";
}

void PodNetwork::CountListeners(const std::string& namespace_name, std::size_t before,
                                std::size_t now) {
  std::size_t& of_namespace = listeners_by_namespace_[namespace_name];
  of_namespace = of_namespace + now - before;
  listeners_ = listeners_ + now - before;
  if (of_namespace == 0) listeners_by_namespace_.erase(namespace_name);
}

PodNetwork::Served PodNetwork::SetService(const Object& service,
                                          const std::vector<ServiceRoute>& routes,
                                          std::vector<HostsLine> lines) {
  const std::string namespace_name = NamespaceOf(*service);
  const std::string owner = OwnerKey(namespace_name, NameOf(*service));
  services_by_namespace_[namespace_name][NameOf(*service)] = service;
  hosts_.Set(namespace_name, owner, std::move(lines));
  Relays& relays = relays_by_service_[owner];
  std::set<Endpoint> wanted;
  for (const ServiceRoute& route : routes) wanted.insert({route.address, route.port});
  // A port without endpoints refuses connections.
  const std::size_t before = relays.size();
  std::erase_if(relays, [&](const auto& one) { return wanted.count(one.first) == 0; });
  CountListeners(namespace_name, before, relays.size());
  Served served;
  for (const ServiceRoute& route : routes) {
    const Endpoint endpoint{route.address, route.port};
    auto relay = relays.find(endpoint);
    if (relay == relays.end()) {
      if (!served.refusal.empty()) continue;
      served.refusal = ExceededLimit(namespace_name, relays.size());
      if (!served.refusal.empty()) continue;
      if (pool_ == nullptr) pool_ = std::make_unique<net::IoPool>(1);
      auto listening = net::TcpRelay::Listen(*pool_, route.address, route.port);
      if (!listening) {
        LogWarning("a Service is not reachable",
                   {{"service", owner}, {"error", listening.error().message}});
        served.all = false;
        continue;
      }
      relay = relays.emplace(endpoint, std::move(*listening)).first;
      CountListeners(namespace_name, relays.size() - 1, relays.size());
    }
    std::vector<net::RelayTarget> targets;
    for (const ServiceBackend& backend : route.backends) {
      targets.push_back({backend.address, backend.port});
    }
    relay->second->SetTargets(std::move(targets));
  }
  return served;
}

void PodNetwork::RemoveService(const std::string& namespace_name, const std::string& name) {
  const std::string owner = OwnerKey(namespace_name, name);
  hosts_.Set(namespace_name, owner, {});
  if (const auto relays = relays_by_service_.find(owner); relays != relays_by_service_.end()) {
    CountListeners(namespace_name, relays->second.size(), 0);
    relays_by_service_.erase(relays);
  }
  const auto services = services_by_namespace_.find(namespace_name);
  if (services == services_by_namespace_.end()) return;
  services->second.erase(name);
  if (services->second.empty()) services_by_namespace_.erase(services);
}

}  // namespace berth::local::cluster
