// api/codec/device_claims.h — claims of devices from JSON. See codec.h.
#pragma once

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/device_claims.h"

namespace berth::api {

template <>
Result<ResourceClaimTemplate> Decode<ResourceClaimTemplate>(const JsonSource& object);
template <>
const ResourceKind& KindOf<ResourceClaimTemplate>();
template <>
Result<DeviceClass> Decode<DeviceClass>(const JsonSource& object);
template <>
const ResourceKind& KindOf<DeviceClass>();
template <>
Result<ResourceSlice> Decode<ResourceSlice>(const JsonSource& object);
template <>
const ResourceKind& KindOf<ResourceSlice>();

}  // namespace berth::api
