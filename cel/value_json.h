// cel/value_json.h — copies of values as JSON.
//
// Threads: as for int. Errors: kInvalid.
#pragma once

#include <cstddef>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "cel/value.h"

namespace berth::cel {

// A copy of `value`: durations and timestamps are strings, bytes are base64, an empty optional is
// null. kInvalid for a double that JSON cannot write, a key that is no string, and for more than
// `max_values` values.
Result<nlohmann::json> ToJson(const Value& value, std::size_t max_values = 100'000);

}  // namespace berth::cel
