// program/apply_manifests.h — applies the manifests of `berth up`, as kubectl apply --server-side
// does, in process.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "local/apiserver/api.h"

namespace berth::program {

// Applies every document of the YAML stream, in order, as `change` leaves it, and takes over fields
// of other managers. The API must have the kinds (CRDs in an earlier call). Errors name the
// document.
using ManifestChange = std::function<Status(local::Json& object)>;
Status ApplyManifests(local::WholeApi& api, std::string_view yaml,
                      const ManifestChange& change = nullptr);

}  // namespace berth::program
