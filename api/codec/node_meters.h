// api/codec/node_meters.h — QueueMeters as JSON, the value of the key `meters` of a ConfigMap, and
// back.
#pragma once

#include <string>
#include <string_view>

#include "api/node_meters.h"
#include "base/result.h"

namespace berth::api {

std::string EncodeMeters(const QueueMeters& meters);
// The text is not trusted, whichever program wrote the ConfigMap: the number of values is bounded,
// amounts below zero count as zero, and no meter ends before it begins. kInvalid: `text` is no such
// JSON.
Result<QueueMeters> DecodeMeters(std::string_view text);

}  // namespace berth::api
