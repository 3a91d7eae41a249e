// api/reclaimable.h — reclaimable pods that the Workload of an elastic job may take back.
//
// A Workload that holds quota uses, in each pod set, the smaller of two numbers: the pods of its
// admission, and the pods of its spec that are not reclaimable. Kueue's review refuses a smaller
// number of reclaimable pods. An elastic job that is scaled down has fewer pods that it can
// release.
#pragma once

#include "api/workload.h"

namespace berth::api {

// Whether `slice` may take back reclaimable pods that its status lists as `told`: it was scaled
// down after its admission, or it uses all its admitted pods whatever it takes back.
bool MayTakeBack(const Workload& slice, const ReclaimablePod& told);

}  // namespace berth::api
