// integrations/sample_play.h — plays a sample object through the description of its kind, and
// checks that its pod sets can be read, that the field that holds a job holds the sample, that a
// start reaches its templates, and that a stop restores them.
//
//     sample ──view──▶ pod sets, state ──hold──▶ ──start──▶ ──stop──▶ as it was held
//
// Threads: pure functions. Errors: kInvalid with the field, "sample: …".
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "integrations/kind_description.h"

namespace berth::integrations {

// Reads the view of the sample. For kinds without a hook and without held pods, plays the hold, the
// start and the stop, too.
Status PlaySample(const KindPtr& kind, const nlohmann::json& sample);

}  // namespace berth::integrations
