// local/apiserver/registry/quota_charges.h — counts a new object in the status of the
// ResourceQuotas of its namespace, in the transaction that stores the object.
//
// What is deleted or has ended is given back by the quota controller (local/cluster/quota).
//
// Threads: any thread.
#pragma once

#include <vector>

#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// 403: a quota has no room. The writes fail with kConflict if a quota has changed since.
ApiResult<std::vector<Write>> QuotaCharges(const Store& store, const RequestContext& context,
                                           const Json& object);

}  // namespace berth::local
