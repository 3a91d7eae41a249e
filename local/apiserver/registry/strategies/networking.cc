// Ingress, IngressClass and NetworkPolicy of networking.k8s.io/v1. Source: Kubernetes 1.36
// validation, restated.
#include <algorithm>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/registry/strategies/stored_checks.h"
#include "local/apiserver/registry/strategies/strategies.h"
#include "local/apiserver/registry/strategies/workload_checks.h"
#include "local/apiserver/schema/name_rules.h"

namespace berth::local {
namespace {

constexpr std::int64_t kMaxControllerName = 250;
constexpr std::string_view kPathCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/-._~%!$&'()*+,;=:";

void CheckServiceBackend(const Json& service, const std::string& path, std::vector<Cause>& causes) {
  const std::string name = TextAt(service, {"name"});
  if (name.empty()) {
    causes.push_back(RequiredError(path + ".service.name"));
  } else {
    AppendInvalid(path + ".service.name", name, Dns1123LabelErrors(name), causes);
  }
  const std::string port_name = TextAt(service, {"port", "name"});
  const std::int64_t number = IntAt(service, {"port", "number"}, 0);
  if (!port_name.empty() && number != 0) {
    causes.push_back(InvalidError(path, "", "cannot set both port name & port number"));
  } else if (!port_name.empty()) {
    AppendInvalid(path + ".service.port.name", port_name, PortNameErrors(port_name), causes);
  } else if (number != 0) {
    AppendInvalid(path + ".service.port.number", number, PortNumberErrors(number), causes);
  } else {
    causes.push_back(RequiredError(path, "port name or number is required"));
  }
}

void CheckBackend(const Json* backend, const std::string& path, std::vector<Cause>& causes) {
  const Json* resource = backend == nullptr ? nullptr : Member(*backend, "resource");
  const Json* service = backend == nullptr ? nullptr : Member(*backend, "service");
  if (resource != nullptr && service != nullptr) {
    causes.push_back(InvalidError(path, "", "cannot set both resource and service backends"));
  } else if (resource != nullptr) {
    CheckReference(*resource, path + ".resource", causes);
  } else if (service != nullptr) {
    CheckServiceBackend(*service, path, causes);
  } else {
    causes.push_back(InvalidError(path, "", "resource or service backend is required"));
  }
}

void CheckUrlPath(const std::string& text, const std::string& path, std::vector<Cause>& causes) {
  for (const std::string_view part : {"//", "/./", "/../", "%2f", "%2F"}) {
    if (text.find(part) == std::string::npos) continue;
    causes.push_back(InvalidError(path, text, "must not contain '" + std::string(part) + "'"));
  }
  for (const std::string_view end : {"/..", "/."}) {
    if (!text.ends_with(end)) continue;
    causes.push_back(InvalidError(path, text, "cannot end with '" + std::string(end) + "'"));
  }
}

void CheckIngressPath(const Json& path, const std::string& at, std::vector<Cause>& causes) {
  const std::string type = TextAt(path, {"pathType"});
  const std::string text = TextAt(path, {"path"});
  if (Member(path, "pathType") == nullptr) {
    causes.push_back(RequiredError(at + ".pathType", "pathType must be specified"));
    return;
  }
  const bool is_exact = type == "Exact" || type == "Prefix";
  if (!is_exact && type != "ImplementationSpecific") {
    causes.push_back(
        NotSupportedError(at + ".pathType", type, {"Exact", "ImplementationSpecific", "Prefix"}));
  } else if ((is_exact || !text.empty()) && !text.starts_with("/")) {
    causes.push_back(InvalidError(at + ".path", text, "must be an absolute path"));
  }
  if (is_exact) CheckUrlPath(text, at + ".path", causes);
  CheckBackend(Member(path, "backend"), at + ".backend", causes);
}

// A host with "*" is a wildcard domain; others are subdomains.
void CheckHost(const std::string& host, const std::string& at, std::vector<Cause>& causes) {
  const bool is_wildcard = host.find('*') != std::string::npos;
  AppendInvalid(at, host, is_wildcard ? WildcardDomainErrors(host) : Dns1123SubdomainErrors(host),
                causes);
}

void CheckIngressRules(const Json& rules, std::vector<Cause>& causes) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string at = IndexPath("spec.rules", i);
    const std::string host = TextAt(rules[i], {"host"});
    if (IsIpAddress(host)) {
      causes.push_back(InvalidError(at + ".host", host, "must be a DNS name, not an IP address"));
    }
    if (!host.empty()) CheckHost(host, at + ".host", causes);
    const Json* http = Member(rules[i], "http");
    if (http == nullptr) continue;
    const Json& paths = ArrayAt(*http, {"paths"});
    if (paths.empty()) causes.push_back(RequiredError(at + ".http.paths"));
    for (std::size_t k = 0; k < paths.size(); ++k) {
      CheckIngressPath(paths[k], IndexPath(at + ".http.paths", k), causes);
    }
  }
}

std::vector<Cause> CheckIngress(const Json& ingress) {
  std::vector<Cause> causes;
  const Json* backend = At(ingress, {"spec", "defaultBackend"});
  const Json& rules = ArrayAt(ingress, {"spec", "rules"});
  if (rules.empty() && backend == nullptr) {
    causes.push_back(
        InvalidError("spec", Json(), "either `defaultBackend` or `rules` must be specified"));
  }
  if (backend != nullptr) CheckBackend(backend, "spec.defaultBackend", causes);
  CheckIngressRules(rules, causes);
  const Json& tls = ArrayAt(ingress, {"spec", "tls"});
  for (std::size_t i = 0; i < tls.size(); ++i) {
    const std::string at = IndexPath("spec.tls", i);
    const Json& hosts = ArrayAt(tls[i], {"hosts"});
    for (std::size_t k = 0; k < hosts.size(); ++k) {
      if (!hosts[k].is_string()) continue;
      CheckHost(hosts[k].get<std::string>(), IndexPath(at + ".hosts", k), causes);
    }
    const std::string secret = TextAt(tls[i], {"secretName"});
    if (secret.empty()) continue;
    AppendInvalid(at + ".secretName", secret, Dns1123SubdomainErrors(secret), causes);
  }
  if (const Json* name = At(ingress, {"spec", "ingressClassName"}); name != nullptr) {
    AppendInvalid("spec.ingressClassName", *name,
                  Dns1123SubdomainErrors(TextAt(ingress, {"spec", "ingressClassName"})), causes);
  }
  return causes;
}

void CheckController(const std::string& controller, std::vector<Cause>& causes) {
  const std::string at = "spec.controller";
  if (controller.empty()) {
    causes.push_back(RequiredError(at));
    return;
  }
  if (static_cast<std::int64_t>(controller.size()) > kMaxControllerName) {
    causes.push_back(TooLongError(at, kMaxControllerName));
  }
  const std::size_t slash = controller.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == controller.size()) {
    causes.push_back(
        InvalidError(at, controller, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    return;
  }
  const std::string host = controller.substr(0, slash);
  const std::string path = controller.substr(slash + 1);
  AppendInvalid(at, host, Dns1123SubdomainErrors(host), causes);
  if (path.find_first_not_of(kPathCharacters) == std::string::npos) return;
  causes.push_back(InvalidError(
      at, path, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
}

std::vector<Cause> CheckIngressClass(const Json& ingress_class) {
  std::vector<Cause> causes;
  CheckController(TextAt(ingress_class, {"spec", "controller"}), causes);
  const Json* parameters = At(ingress_class, {"spec", "parameters"});
  if (parameters == nullptr) return causes;
  const std::string at = "spec.parameters";
  CheckReference(*parameters, at, causes);
  const std::string scope = TextAt(*parameters, {"scope"});
  const Json* space = Member(*parameters, "namespace");
  if (scope != "Namespace" && scope != "Cluster") {
    causes.push_back(NotSupportedError(at + ".scope", scope, {"Cluster", "Namespace"}));
  } else if (scope == "Cluster" && space != nullptr) {
    causes.push_back(ForbiddenError(at + ".namespace", "`parameters.scope` is set to 'Cluster'"));
  } else if (scope == "Namespace" && space == nullptr) {
    causes.push_back(RequiredError(at + ".namespace", "`parameters.scope` is set to 'Namespace'"));
  } else if (space != nullptr) {
    AppendInvalid(at + ".namespace", *space, Dns1123LabelErrors(TextAt(*parameters, {"namespace"})),
                  causes);
  }
  return causes;
}

void CheckIngressClassChange(const Json& object, const Json& old_object,
                             std::vector<Cause>& causes) {
  if (SameAt(object, old_object, {"spec", "controller"})) return;
  causes.push_back(InvalidError("spec.controller", OrNull(At(object, {"spec", "controller"})),
                                "field is immutable"));
}

void CheckPolicyPort(const Json& port, const std::string& at, std::vector<Cause>& causes) {
  const std::string protocol = TextAt(port, {"protocol"});
  if (!protocol.empty() && protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
    causes.push_back(NotSupportedError(at + ".protocol", protocol, {"TCP", "UDP", "SCTP"}));
  }
  const Json* first = Member(port, "port");
  const Json* last = Member(port, "endPort");
  if (first == nullptr) {
    if (last == nullptr) return;
    causes.push_back(
        InvalidError(at + ".endPort", *last, "may not be specified when `port` is not specified"));
  } else if (first->is_string()) {
    if (last != nullptr) {
      causes.push_back(
          InvalidError(at + ".endPort", *last, "may not be specified when `port` is non-numeric"));
    }
    AppendInvalid(at + ".port", *first, PortNameErrors(first->get<std::string>()), causes);
  } else {
    AppendInvalid(at + ".port", *first, PortNumberErrors(*first), causes);
    if (last == nullptr) return;
    if (*last < *first) {
      causes.push_back(
          InvalidError(at + ".endPort", *first, "must be greater than or equal to `port`"));
    }
    AppendInvalid(at + ".endPort", *last, PortNumberErrors(*last), causes);
  }
}

void CheckIpBlock(const Json& ip_block, const std::string& at, std::vector<Cause>& causes) {
  const std::string cidr = TextAt(ip_block, {"cidr"});
  if (cidr.empty()) {
    causes.push_back(RequiredError(at + ".cidr"));
    return;
  }
  AddressBlock block;
  if (!CheckAddressBlock(cidr, at + ".cidr", block, causes)) return;
  const Json& except = ArrayAt(ip_block, {"except"});
  for (std::size_t i = 0; i < except.size(); ++i) {
    const std::string path = IndexPath(at + ".except", i);
    const std::string text = except[i].is_string() ? except[i].get<std::string>() : "";
    AddressBlock inner;
    if (!CheckAddressBlock(text, path, inner, causes) || IsStrictPart(block, inner)) continue;
    causes.push_back(InvalidError(path, text, "must be a strict subset of `cidr`"));
  }
}

void CheckPeer(const Json& peer, const std::string& at, std::vector<Cause>& causes) {
  int count = 0;
  for (const std::string_view field : {"podSelector", "namespaceSelector"}) {
    const Json* selector = Member(peer, field);
    if (selector == nullptr) continue;
    ++count;
    CheckLabelSelector(selector, ChildPath(at, field), causes);
  }
  const Json* block = Member(peer, "ipBlock");
  if (block != nullptr) CheckIpBlock(*block, at + ".ipBlock", causes);
  if (count == 0 && block == nullptr) {
    causes.push_back(RequiredError(at, "must specify a peer"));
  } else if (count > 0 && block != nullptr) {
    causes.push_back(ForbiddenError(at, "may not specify both ipBlock and another peer"));
  }
}

void CheckPolicyRules(const Json& policy, std::string_view direction, std::string_view peers,
                      std::vector<Cause>& causes) {
  const Json& rules = ArrayAt(policy, {"spec", direction});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string at = IndexPath(ChildPath("spec", direction), i);
    const Json& ports = ArrayAt(rules[i], {"ports"});
    for (std::size_t k = 0; k < ports.size(); ++k) {
      CheckPolicyPort(ports[k], IndexPath(at + ".ports", k), causes);
    }
    const Json& ends = ArrayAt(rules[i], {peers});
    for (std::size_t k = 0; k < ends.size(); ++k) {
      CheckPeer(ends[k], IndexPath(ChildPath(at, peers), k), causes);
    }
  }
}

std::vector<Cause> CheckNetworkPolicy(const Json& policy) {
  std::vector<Cause> causes;
  CheckLabelSelector(At(policy, {"spec", "podSelector"}), "spec.podSelector", causes);
  CheckPolicyRules(policy, "ingress", "from", causes);
  CheckPolicyRules(policy, "egress", "to", causes);
  const Json& types = ArrayAt(policy, {"spec", "policyTypes"});
  if (types.size() > 2) {
    causes.push_back(
        InvalidError("spec.policyTypes", types, "may not specify more than two policyTypes"));
    return causes;
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == "Ingress" || types[i] == "Egress") continue;
    causes.push_back(
        NotSupportedError(IndexPath("spec.policyTypes", i), types[i], {"Ingress", "Egress"}));
  }
  return causes;
}

}  // namespace

std::unique_ptr<const Strategy> MakeIngressStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckIngress});
}
std::unique_ptr<const Strategy> MakeIngressClassStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckIngressClass, CheckIngressClassChange});
}
std::unique_ptr<const Strategy> MakeNetworkPolicyStrategy() {
  return std::make_unique<StoredStrategy>(StoredRules{CheckNetworkPolicy});
}

}  // namespace berth::local
