// api/codec/provisioning_policy.h — ProvisioningPolicy and ProvisioningMemory from JSON, and the
// memory back. See codec.h.
#pragma once

#include <string>
#include <string_view>

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/provisioning_policy.h"

namespace berth::api {

template <>
Result<ProvisioningPolicy> Decode<ProvisioningPolicy>(const JsonSource& object);
template <>
const ResourceKind& KindOf<ProvisioningPolicy>();

// The value of the annotation berth.dev/provisioning: JSON, one member for each check.
std::string EncodeMemory(const MemoryByCheck& memory);
// kInvalid: `text` is no such JSON.
Result<MemoryByCheck> DecodeMemory(std::string_view text);

}  // namespace berth::api
