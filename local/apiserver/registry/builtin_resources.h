// local/apiserver/registry/builtin_resources.h — the built-in kinds.
#pragma once

#include <vector>

#include "local/apiserver/registry/resource_info.h"
#include "local/apiserver/types/type_table.h"

namespace berth::local {

// The built-in resources in discovery order. `types` must outlive the result.
std::vector<ResourcePtr> BuiltinResources(const TypeTable& types);

}  // namespace berth::local
