#include "api/codec/device_claims.h"

#include <algorithm>
#include <utility>

#include "api/codec/parts.h"
#include "api/codec/reader.h"

namespace berth::api {
namespace {

constexpr ResourceKind kResourceClaimTemplate{"resource.k8s.io", "v1", "ResourceClaimTemplate",
                                              "resourceclaimtemplates"};
constexpr ResourceKind kDeviceClass{"resource.k8s.io", "v1", "DeviceClass", "deviceclasses", false};
constexpr ResourceKind kResourceSlice{"resource.k8s.io", "v1", "ResourceSlice", "resourceslices",
                                      false};

void ReadSelectors(const Reader& in, std::vector<std::string>& out) {
  in.Each([&out](const Reader& item) {
    const Reader cel = item.Field("cel");
    if (cel.present()) cel.Field("expression").Get(out.emplace_back());
  });
}

void ReadAttribute(const Reader& in, DeviceAttribute& out) {
  const Reader flag = in.Field("bool");
  const Reader number = in.Field("int");
  const Reader version = in.Field("version");
  if (flag.present()) {
    flag.Get(out.emplace<bool>());
  } else if (number.present()) {
    number.Get(out.emplace<std::int64_t>());
  } else if (version.present()) {
    version.Get(out.emplace<DeviceVersion>().text);
  } else {
    in.Field("string").Get(out.emplace<std::string>());
  }
}

void ReadDevice(const Reader& in, Device& out) {
  in.Field("name").Get(out.name);
  in.Field("attributes").EachMember("object", [&out](const std::string& name, const Reader& value) {
    ReadAttribute(value, out.attributes[name]);
  });
  in.Field("capacity").EachMember("object", [&out](const std::string& name, const Reader& value) {
    value.Field("value").Get(out.capacity[name]);
  });
  in.Field("consumesCounters").Each([&out](const Reader& item) {
    item.Field("counters")
        .EachMember("object", [&out](const std::string& name, const Reader& value) {
          Amount amount = 0;
          value.Field("value").GetAmount("counter", amount);
          const auto [known, added] = out.counters.emplace(name, amount);
          if (!added) known->second = std::max(known->second, amount);
        });
  });
}

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
      ReadSelectors(exactly.Field("selectors"), request.selectors);
    });
  });
}

template <>
Result<DeviceClass> Decode<DeviceClass>(const JsonSource& object) {
  return ReadAs<DeviceClass>(object, [](const Reader& in, DeviceClass& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    ReadSelectors(spec.Field("selectors"), out.selectors);
    spec.Field("extendedResourceName").Get(out.extended_resource);
  });
}

template <>
const ResourceKind& KindOf<DeviceClass>() {
  return kDeviceClass;
}

template <>
Result<ResourceSlice> Decode<ResourceSlice>(const JsonSource& object) {
  return ReadAs<ResourceSlice>(object, [](const Reader& in, ResourceSlice& out) {
    Read(in.Field("metadata"), out.meta);
    const Reader spec = in.Field("spec");
    spec.Field("driver").Get(out.driver);
    const Reader pool = spec.Field("pool");
    pool.Field("name").Get(out.pool);
    pool.Field("generation").Get(out.pool_generation);
    pool.Field("resourceSliceCount").Get(out.pool_slices);
    spec.Field("devices").List(out.devices, ReadDevice);
  });
}

template <>
const ResourceKind& KindOf<ResourceSlice>() {
  return kResourceSlice;
}

template <>
const ResourceKind& KindOf<ResourceClaimTemplate>() {
  return kResourceClaimTemplate;
}

}  // namespace berth::api
