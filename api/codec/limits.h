// api/codec/limits.h — LimitRange and RuntimeClass from JSON. See codec.h.
#pragma once

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/limits.h"

namespace berth::api {

template <>
Result<LimitRange> Decode<LimitRange>(const JsonSource& object);
template <>
Result<RuntimeClass> Decode<RuntimeClass>(const JsonSource& object);
template <>
const ResourceKind& KindOf<LimitRange>();
template <>
const ResourceKind& KindOf<RuntimeClass>();

}  // namespace berth::api
