// integrations/kind_hold.h — the hold of a kind's objects (object_hold.h) by the fields of its
// description.
//
// Threads: pure functions. Errors: kInvalid with the field of the description.
#pragma once

#include "base/result.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// A description chooses exactly one way to hold.
Result<ObjectHoldPtr> HoldOf(const KindDescription& kind);

}  // namespace berth::integrations
