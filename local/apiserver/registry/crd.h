// local/apiserver/registry/crd.h — CustomResourceDefinition objects: what they must look like, what
// is filled in, and the resources they make.
//
// Source: apiextensions.k8s.io/v1.
#pragma once

#include <string_view>
#include <vector>

#include "base/clock.h"
#include "local/apiserver/api.h"
#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

// The versions of a stored CRD, served or not; empty where its names were not accepted.
std::vector<ResourcePtr> CrdResources(const Json& crd);

// names.singular, names.listKind, conversion.strategy.
void DefaultCrd(Json& crd);
std::vector<Cause> ValidateCrd(const Json& crd);
std::vector<Cause> ValidateCrdUpdate(const Json& crd, const Json& old_crd);

// status of a CRD that has just been created or whose spec has changed: accepted names, stored
// versions, conditions NamesAccepted and Established. `others`: every other CRD.
void SetCrdStatus(Json& crd, const std::vector<const Json*>& others, WallTime now);

// CEL rules in all versions; they are kept but not evaluated.
std::size_t CountRules(const ResourceInfo& resource);

}  // namespace berth::local
