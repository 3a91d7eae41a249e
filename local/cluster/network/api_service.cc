#include "local/cluster/network/api_service.h"

#include <cstdint>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/strings.h"
#include "local/apiserver/schema/name_rules.h"
#include "local/cluster/objects/resource_ids.h"

namespace berth::local::cluster {
namespace {

constexpr int kHttps = 443;

Json Metadata(Json labels) {
  return {{"name", kApiService}, {"namespace", kApiNamespace}, {"labels", std::move(labels)}};
}

Json ServiceFor(const ServiceBackend& backend) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", Metadata({{"component", "apiserver"}, {"provider", "kubernetes"}})},
          {"spec",
           {{"type", "ClusterIP"},
            {"sessionAffinity", "None"},
            {"ports", Json::array({{{"name", "https"},
                                    {"port", kHttps},
                                    {"protocol", "TCP"},
                                    {"targetPort", backend.port}}})}}}};
}

Json EndpointPort(const ServiceBackend& backend) {
  return {{"name", "https"}, {"port", backend.port}, {"protocol", "TCP"}};
}

Json EndpointsFor(const ServiceBackend& backend) {
  return {{"apiVersion", "v1"},
          {"kind", "Endpoints"},
          {"metadata", Metadata({{"endpointslice.kubernetes.io/skip-mirror", "true"}})},
          {"subsets", Json::array({{{"addresses", Json::array({{{"ip", backend.address}}})},
                                    {"ports", Json::array({EndpointPort(backend)})}}})}};
}

Json SliceFor(const ServiceBackend& backend) {
  return {{"apiVersion", "discovery.k8s.io/v1"},
          {"kind", "EndpointSlice"},
          {"metadata", Metadata({{"kubernetes.io/service-name", kApiService}})},
          {"addressType", "IPv4"},
          {"endpoints", Json::array({{{"addresses", Json::array({backend.address})},
                                      {"conditions", {{"ready", true}}}}})},
          {"ports", Json::array({EndpointPort(backend)})}};
}

}  // namespace

std::optional<ServiceBackend> ApiBackend(const std::string& url) {
  const std::size_t host = url.find("://");
  const std::size_t colon = url.rfind(':');
  if (host == std::string::npos || colon <= host) return std::nullopt;
  std::string address = url.substr(host + 3, colon - host - 3);
  const auto port = ParseInt64(url.substr(colon + 1));
  in_addr parsed{};
  if (!port || !IsPortNumber(*port) || inet_pton(AF_INET, address.c_str(), &parsed) != 1) {
    return std::nullopt;
  }
  if (parsed.s_addr == htonl(INADDR_ANY)) address = "127.0.0.1";
  return ServiceBackend{std::move(address), static_cast<std::uint16_t>(*port)};
}

bool MayServeHttps(const std::string& network) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kHttps);
  // The last address, which no pod and no Service has.
  if (inet_pton(AF_INET, (network + ".255.255").c_str(), &address.sin_addr) != 1) return false;
  const int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0) return false;
  const bool may = bind(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(file);
  return may;
}

ApiService::ApiService(Api& api, ObjectCache& cache, Executor& executor, const Clock& clock,
                       ServiceBackend backend)
    : cache_(cache),
      writer_(api, cache, "kube-apiserver"),
      backend_(std::move(backend)),
      looks_(
          executor, "api-service", [this](const ObjectKey&) { return Look(); },
          LookOptions(clock)) {
  const ObjectKey key{kApiNamespace, kApiService};
  for (const ResourceId* resource : {&kServices, &kEndpoints, &kEndpointSlices}) {
    cache_.Listen(*resource, [this, key](const ObjectChange& change) {
      if (change.current == nullptr && KeyOf(change.any()) == key) looks_.Add(key);
    });
  }
}

void ApiService::Start() {
  looks_.Add({kApiNamespace, kApiService});
  looks_.Start();
}

Result<NextLook> ApiService::Look() {
  BERTH_CHECK_OK(Keep(kServices, ServiceFor(backend_)));
  BERTH_CHECK_OK(Keep(kEndpoints, EndpointsFor(backend_)));
  BERTH_CHECK_OK(Keep(kEndpointSlices, SliceFor(backend_)));
  return NextLook{};
}

// Creates the object, or gives it the API's address and port.
Status ApiService::Keep(const ResourceId& resource, const Json& object) {
  const Object known = cache_.Get(resource, KeyOf(object));
  if (known == nullptr) {
    const auto created = writer_.Create(resource, kApiNamespace, object);
    return created ? OkStatus() : ToError(created.error());
  }
  const auto written = writer_.Edit(resource, KeyOf(object), UidOf(*known), "", [&](Json& one) {
    for (const char* member : {"subsets", "endpoints", "ports"}) {
      if (object.contains(member)) one[member] = object[member];
    }
    if (object.contains("spec")) one["spec"]["ports"] = object["spec"]["ports"];
    return true;
  });
  if (written || written.error().reason == "NotFound") return OkStatus();
  return ToError(written.error());
}

}  // namespace berth::local::cluster
