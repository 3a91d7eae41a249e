// local/apiserver/registry/crd.h — CustomResourceDefinition objects: validation, defaults, and the
// resources that they define.
//
// Source: apiextensions.k8s.io/v1.
#pragma once

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/schema/field_error.h"
#include "local/apiserver/store/watch_cache.h"

namespace berth::local {

// The storage name of CustomResourceDefinitions.
inline constexpr char kCrdStorage[] = "customresourcedefinitions.apiextensions.k8s.io";

// The versions of a stored CRD, served or not; empty if its names are not accepted.
std::vector<ResourcePtr> CrdResources(const Json& crd);

// Fills in names.singular, names.listKind, conversion.strategy.
void DefaultCrd(Json& crd);
// `old_crd`: the CRD before an update; rules that its schemas have already may cost as much as they
// cost there. Null: a new CRD.
std::vector<Cause> ValidateCrd(const Json& crd, const Json* old_crd = nullptr);
std::vector<Cause> ValidateCrdUpdate(const Json& crd, const Json& old_crd);

// Sets the status of a CRD after its creation or a change of its spec: accepted names, stored
// versions, conditions NamesAccepted and Established. `others`: every other CRD.
void SetCrdStatus(Json& crd, const std::vector<const Json*>& others, WallTime now);
// Sets the status by the other CRDs among `stored`.
void SetCrdStatus(Json& crd, const WatchCache& stored, WallTime now);

}  // namespace berth::local
