#include "local/apiserver/webhooks/service_address.h"

#include <algorithm>

#include "local/apiserver/registry/json_access.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {
namespace {

std::string JoinHostPort(const std::string& host, int port) {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace

Result<std::string> AddressOfService(const Json* service, const std::string& name, int port) {
  if (service == nullptr) {
    return Error{ErrorCode::kNotFound, "service " + GoQuote(name) + " not found"};
  }
  const std::string type = TextAt(*service, {"spec", "type"});
  if (type == "ExternalName") {
    return JoinHostPort(TextAt(*service, {"spec", "externalName"}), port);
  }
  const std::string address = TextAt(*service, {"spec", "clusterIP"});
  if (address == "None") {
    return Error{ErrorCode::kUnavailable, "cannot route to service with ClusterIP \"None\""};
  }
  if (address.empty()) {
    return Error{ErrorCode::kUnavailable, "unsupported service type " + GoQuote(type)};
  }
  const Json& ports = ArrayAt(*service, {"spec", "ports"});
  const bool known = std::any_of(ports.begin(), ports.end(),
                                 [&](const Json& one) { return IntAt(one, {"port"}, 0) == port; });
  if (!known) {
    return Error{ErrorCode::kNotFound,
                 "no service port " + std::to_string(port) + " found for service " + GoQuote(name)};
  }
  return JoinHostPort(address, port);
}

}  // namespace berth::local
