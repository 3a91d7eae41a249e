#include "local/apiserver/registry/service_addresses.h"

#include <algorithm>
#include <set>

#include "local/apiserver/registry/json_access.h"

namespace berth::local {
namespace {

constexpr std::uint32_t kMostAddresses = 0x7ffe;
constexpr std::size_t kMostGiven = 256;

std::set<std::string> UsedAddresses(const WatchCache& cache) {
  std::set<std::string> used;
  for (const StoredPtr& stored : cache.List("services", "").objects) {
    const Object service = stored->json();
    if (service != nullptr) used.insert(TextAt(*service, {"spec", "clusterIP"}));
  }
  return used;
}

}  // namespace

std::vector<Cause> ServiceAddresses::Assign(Json& service, const WatchCache& cache) {
  Json& spec = service["spec"];
  if (TextAt(spec, {"type"}) == "ExternalName") return {};
  std::string address = TextAt(spec, {"clusterIP"});
  const Json& listed = ArrayAt(spec, {"clusterIPs"});
  if (address.empty() && !listed.empty() && listed[0].is_string()) {
    address = listed[0].get<std::string>();
  }
  if (address.empty()) {
    address = Free(cache);
    if (address.empty()) {
      return {InvalidError("spec.clusterIP", address, "no address is free; delete a Service")};
    }
  } else if (address != "None" && UsedAddresses(cache).contains(address)) {
    return {
        InvalidError("spec.clusterIPs", Json::array({address}),
                     "failed to allocate IP " + address + ": provided IP is already allocated")};
  }
  spec["clusterIP"] = address;
  spec["clusterIPs"] = Json::array({address});
  spec["ipFamilies"] = Json::array({"IPv4"});
  spec["ipFamilyPolicy"] = "SingleStack";
  return {};
}

// Addresses follow one another: one that was given back is not the next one.
std::string ServiceAddresses::Free(const WatchCache& cache) {
  const std::lock_guard lock(mutex_);
  const std::set<std::string> used = UsedAddresses(cache);
  for (std::uint32_t tried = 0; tried < kMostAddresses; ++tried) {
    last_ = last_ % kMostAddresses + 1;
    std::string address =
        prefix_ + "." + std::to_string(128 + (last_ >> 8U)) + "." + std::to_string(last_ & 0xffU);
    const bool is_given = std::find(given_.begin(), given_.end(), address) != given_.end();
    if (is_given || used.contains(address)) continue;
    given_.push_back(address);
    if (given_.size() > kMostGiven) given_.pop_front();
    return address;
  }
  return "";
}

}  // namespace berth::local
