#include "api/codec/device_claims.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/parts.h"
#include "api/codec/reader.h"

namespace berth::api {
namespace {

constexpr ResourceKind kResourceClaimTemplate{"resource.k8s.io", "v1", "ResourceClaimTemplate",
                                              "resourceclaimtemplates"};
constexpr std::size_t kMaxClaims = 256;

}  // namespace

template <>
Result<ResourceClaimTemplate> Decode<ResourceClaimTemplate>(const JsonSource& object) {
  return ReadAs<ResourceClaimTemplate>(object, [](const Reader& in, ResourceClaimTemplate& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    const Reader claim = spec.Field("spec");
    const Reader devices = claim.Field("devices");
    devices.Field("requests").List(out.requests, [](const Reader& item, DeviceRequest& request) {
      request.first_available = item.Field("firstAvailable").present();
      const Reader exactly = item.Field("exactly");
      request.exactly = exactly.present();
      exactly.Field("deviceClassName").Get(request.device_class);
      exactly.Field("allocationMode").Get(request.allocation_mode);
      exactly.Field("count").Get(request.count);
      exactly.Field("adminAccess").Get(request.admin_access);
    });
  });
}

template <>
const ResourceKind& KindOf<ResourceClaimTemplate>() {
  return kResourceClaimTemplate;
}

std::vector<PodClaim> ClaimsOf(const PodTemplate& pod_template) {
  std::vector<PodClaim> claims;
  if (pod_template.json == nullptr) return claims;
  const nlohmann::json tree = ParseJsonOrNull(*pod_template.json);
  const nlohmann::json::json_pointer place("/spec/resourceClaims");
  if (!tree.contains(place) || !tree.at(place).is_array()) return claims;
  for (const nlohmann::json& item : tree.at(place)) {
    if (!item.is_object() || claims.size() >= kMaxClaims) continue;
    const auto text = [&item](const char* key) {
      const auto found = item.find(key);
      return found != item.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    claims.push_back({text("resourceClaimTemplateName"), text("resourceClaimName")});
  }
  return claims;
}

}  // namespace berth::api
