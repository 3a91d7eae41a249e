// admission/flavors/claimed_devices.h — the devices that pods ask for (dynamic resource
// allocation), as amounts of the resources that the Configuration maps device classes to.
//
//     pod set ─resourceClaims─▶ ResourceClaimTemplate ─devices.requests─▶ classes, counts
//             ─resources.deviceClassMappings─▶ "gpus: 2" for each pod
//     container ─requests "example.com/gpu: 2"─▶ DeviceClass with that extendedResourceName
//             ─resources.deviceClassMappings─▶ the same
//
// Counted: requests for an exact count of one class; for a class with counters, the largest value
// of the counter among the devices that fit, for each device. Requests with adminAccess take no
// quota. A request with selectors waits until the cluster has enough devices that fit. All other
// forms are refused with the path of the field. So are claims that exist already, which pods share.
//
// Threads: one. Errors: none; a claim that cannot be counted is an answer.
// Source: Kueue pkg/dra.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admission/flavors/device_pool.h"
#include "api/device_claims.h"
#include "api/workload.h"

namespace berth::admission {

// The resource that counts the devices of a class, from resources.deviceClassMappings.
using DeviceClassMapping = std::map<std::string, std::string>;  // class → resource

// A counter of partitionable devices that is counted in place of the devices.
struct DeviceCounter {
  std::string resource;
  std::string name;
  std::string driver;
  std::string selector;  // expression: which devices of the driver count
};
using DeviceCounters = std::map<std::string, std::vector<DeviceCounter>>;  // by class

class DeviceClaims {
 public:
  void Use(DeviceClassMapping classes, DeviceCounters counters = {}) {
    classes_ = std::move(classes);
    counters_ = std::move(counters);
  }

  void Set(const api::ResourceClaimTemplate& object);
  void Remove(const api::ObjectKey& key);
  DevicePool& pool() { return pool_; }

  // The workload with its devices as an overhead of its pods, without the flag `resource_claims`;
  // the same pointer where the workload asks for no devices. The flag stays where the devices
  // cannot be counted.
  std::shared_ptr<const api::Workload> Counted(std::shared_ptr<const api::Workload> workload) const;

  // Why the devices of the workload cannot be counted; empty: they can, or there are none.
  std::string Problem(const api::Workload& workload) const;

  // Whether a change of the cluster's devices or their classes may change the answers.
  bool AsksForDevices(const api::Workload& workload) const;

 private:
  // The amounts that one pod takes for one claim.
  struct Charge {
    std::uint64_t pool_version = 0;
    std::string problem;   // the text after the claim's path; empty: none
    std::string unmapped;  // a class that no mapping counts; empty: all are counted
    api::ResourceAmounts amounts;
  };

  bool HasExtended(const api::PodSpec& spec) const;
  // Adds the devices of one pod; returns the problem.
  std::string AddClaims(const api::Workload& workload, std::size_t pod_set,
                        api::ResourceAmounts& devices) const;
  std::string AddExtended(std::size_t pod_set, api::PodSpec& spec,
                          api::ResourceAmounts& devices) const;
  const Charge& ChargeOf(const api::ResourceClaimTemplate& claimed) const;
  std::string CountClasses(const api::ResourceClaimTemplate& claimed,
                           std::map<std::string, std::int64_t>& devices) const;
  std::string CheckSelectors(const api::ResourceClaimTemplate& claimed,
                             std::uint64_t& budget) const;
  std::string AddCounters(const api::DeviceRequest& request, const std::string& at,
                          std::uint64_t& budget, api::ResourceAmounts& amounts) const;

  DeviceClassMapping classes_;
  DeviceCounters counters_;
  DevicePool pool_;
  std::map<api::ObjectKey, api::ResourceClaimTemplate> templates_;
  // The charges of templates, each computed for one version of the pool.
  mutable std::map<api::ObjectKey, Charge> charges_;
};

}  // namespace berth::admission
