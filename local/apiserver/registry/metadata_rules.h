// local/apiserver/registry/metadata_rules.h — the rules for metadata on writes: names, labels,
// annotations, owner references, finalizers.
//
// Source: Kubernetes API conventions; k8s.io/apimachinery api/validation, restated.
#pragma once

#include <string>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/schema/field_error.h"

namespace berth::local {

enum class NameRule { kSubdomain, kLabel, kPathSegment };
enum class Scope { kNamespaced, kCluster };

std::vector<Cause> ValidateMetadata(const Json& metadata, Scope scope, NameRule rule);
// Errors for changes of immutable metadata.
std::vector<Cause> ValidateMetadataUpdate(const Json& metadata, const Json& old_metadata);

// Appends `more` to `causes`.
void AppendCauses(std::vector<Cause>& causes, std::vector<Cause> more);

}  // namespace berth::local
