// cli/apply_manifests.h — kubectl apply --server-side, in process, for what `berth up` brings
// along.
#pragma once

#include <string_view>

#include "base/result.h"
#include "local/apiserver/api.h"

namespace berth::cli {

// Applies every document of the YAML stream, in order, taking over fields that others own. The
// kinds must be known to the API (CRDs in an earlier call). Errors name the document.
Status ApplyManifests(local::WholeApi& api, std::string_view yaml);

}  // namespace berth::cli
