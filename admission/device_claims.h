// admission/device_claims.h — the devices that pods claim (dynamic resource allocation), as amounts
// of the resources that the Configuration maps device classes to.
//
//     pod set ─resourceClaims─▶ ResourceClaimTemplate ─devices.requests─▶ classes, counts
//             ─resources.deviceClassMappings─▶ "gpus: 2" for each pod
//
// Counted: requests for an exact count of one class. Requests with adminAccess take no quota. All
// other forms are refused with the field, and so are claims that exist already, which pods share.
// Selectors are not compared with the devices of the cluster.
//
// Threads: one. Errors: none; a claim that cannot be counted is an answer.
// Source: Kueue pkg/dra.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/device_claims.h"
#include "api/workload.h"

namespace berth::admission {

// What a device class is counted as, from resources.deviceClassMappings.
using DeviceClassMapping = std::map<std::string, std::string>;  // class → resource

class DeviceClaims {
 public:
  // Reads the claims of a pod template; the deciding folders know no JSON.
  using ClaimsOf = std::function<std::vector<api::PodClaim>(const api::PodTemplate&)>;

  void Use(DeviceClassMapping classes, ClaimsOf claims_of) {
    classes_ = std::move(classes);
    claims_of_ = std::move(claims_of);
  }

  void Set(const api::ResourceClaimTemplate& object) { templates_[object.meta.key()] = object; }
  void Remove(const api::ObjectKey& key) { templates_.erase(key); }

  // The workload with its devices as an overhead of its pods, without the mark of claims; the same
  // pointer where it claims none, or claims that cannot be counted.
  std::shared_ptr<const api::Workload> Counted(std::shared_ptr<const api::Workload> workload) const;

  // Why the claims of the workload cannot be counted; empty: they can, or there are none.
  std::string Problem(const api::Workload& workload) const;

 private:
  // Adds the devices of one pod; returns the problem.
  std::string Add(const api::Workload& workload, std::size_t pod_set,
                  api::ResourceAmounts& devices) const;
  std::string AddClaim(const api::ResourceClaimTemplate& claimed, const std::string& path,
                       api::ResourceAmounts& devices) const;

  DeviceClassMapping classes_;
  ClaimsOf claims_of_;
  std::map<api::ObjectKey, api::ResourceClaimTemplate> templates_;
};

}  // namespace berth::admission
