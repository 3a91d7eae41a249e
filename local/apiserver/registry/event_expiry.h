// local/apiserver/registry/event_expiry.h — removes old events.
//
// Threads: any; blocks until the disk has the deletions.
// Source: kube-apiserver --event-ttl, one hour by default.
#pragma once

#include "base/clock.h"
#include "local/apiserver/store/store.h"

namespace berth::local {

// Removes events whose last occurrence is an hour ago; a few hundred per call.
void ExpireEvents(Store& store, WallTime now);

}  // namespace berth::local
