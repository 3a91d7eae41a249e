// cel/value_text.h — the texts of values and of their types.
//
// Threads: as for int. Errors: none.
// Source: CEL language definition; the messages of Kubernetes' API server.
#pragma once

#include <string>
#include <string_view>

#include "cel/value.h"

namespace berth::cel {

// "int", "google.protobuf.Duration", …; valid as long as `value` lives.
std::string_view TypeName(const Value& value);

// The text that Kubernetes prints for a value in messages; cut after a kilobyte.
std::string ToText(const Value& value);

}  // namespace berth::cel
