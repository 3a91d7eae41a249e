// api/codec/karpenter.h — Karpenter's NodePools and NodeClaims, and Events of autoscalers, from
// JSON. See codec.h.
#pragma once

#include "api/codec/codec.h"
#include "api/codec/kinds.h"
#include "api/karpenter.h"
#include "api/told_event.h"

namespace berth::api {

template <>
Result<KarpenterNodePool> Decode<KarpenterNodePool>(const JsonSource& object);
template <>
const ResourceKind& KindOf<KarpenterNodePool>();

template <>
Result<KarpenterNodeClaim> Decode<KarpenterNodeClaim>(const JsonSource& object);
template <>
const ResourceKind& KindOf<KarpenterNodeClaim>();

template <>
Result<ToldEvent> Decode<ToldEvent>(const JsonSource& object);
template <>
const ResourceKind& KindOf<ToldEvent>();

}  // namespace berth::api
