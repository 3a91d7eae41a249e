// local/apiserver/registry/quota_charges.h — counts a new object, or the increase of a changed one,
// in the status of the ResourceQuotas of its namespace, in the transaction that stores the object.
//
// Changes of Services and PersistentVolumeClaims are counted, and those of pods whose
// activeDeadlineSeconds comes or goes, since only these can take more. The quota controller
// (local/cluster/policies) gives back the amounts of objects that are deleted, have ended or take
// less.
//
// Threads: any thread.
#pragma once

#include <vector>

#include "local/apiserver/registry/request.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// `old_object`: null for a new object. 403: a quota has no room. The writes fail with kConflict if
// a quota has changed since.
ApiResult<std::vector<Write>> QuotaCharges(const Store& store, const RequestContext& context,
                                           const Json& object, const Json* old_object = nullptr);

}  // namespace berth::local
