// local/apiserver/patch/strategic_patch.h — strategic merge patch: lists merge by key where the
// type says so. Built-in kinds only.
//
// Directives: $patch (delete, replace, merge), $deleteFromPrimitiveList/<f>, $setElementOrder/<f>,
// $retainKeys; null deletes.
// Errors: 400 for a malformed directive; 422 "… does not contain declared merge key: name".
// Source: Kubernetes strategic merge patch (sig-api-machinery/strategic-merge-patch.md).
#pragma once

#include "local/apiserver/api.h"
#include "local/apiserver/schema/type_node.h"

namespace berth::local {

ApiResult<Json> ApplyStrategicMergePatch(const TypeNode& type, const Json& original,
                                         const Json& patch);

}  // namespace berth::local
