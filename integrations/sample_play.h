// integrations/sample_play.h — plays a sample object through the description of its kind: what the
// pod sets are, whether the field that holds a job holds the sample, whether a start reaches its
// templates, whether a stop restores them.
//
//     sample ──view──▶ pod sets, state ──hold──▶ ──start──▶ ──stop──▶ as it was held
//
// Threads: pure functions. Errors: kInvalid with the field, "sample: …".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// Plays also the hold, the start and the stop, for kinds without a hook and without held pods.
Status PlaySample(const KindPtr& kind, const nlohmann::json& sample);

}  // namespace berth::integrations
