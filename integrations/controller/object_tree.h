// integrations/controller/object_tree.h — an object that an informer reads, as a JSON tree.
//
// Threads: pure function. Errors: kInvalid, as api::ParseJson.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/codec/codec.h"
#include "base/result.h"

namespace berth::integrations {

Result<nlohmann::json> TreeOf(const api::JsonSource& object);

}  // namespace berth::integrations
