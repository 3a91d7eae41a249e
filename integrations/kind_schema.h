// integrations/kind_schema.h — compares a description with the schema of its kind: a path that the
// schema lacks would be pruned from what a start or a stop writes, and the job would never be held.
//
// Threads: pure functions. Errors: kInvalid with the field of the description.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// `openapi`: the document /openapi/v3/apis/GROUP/VERSION of the API server. False: the document
// does not have the kind. Parts of a schema that are open fit everything.
Result<bool> CheckPaths(const KindDescription& kind, const nlohmann::json& openapi);

}  // namespace berth::integrations
