// api/codec/spend_memory.h — QueueSpend as JSON, the value of the key `spend` of a ConfigMap, and
// back.
#pragma once

#include <string>
#include <string_view>

#include "api/spend_memory.h"
#include "base/result.h"

namespace berth::api {

std::string EncodeSpend(const QueueSpend& spend);
// The text is not trusted, whichever program wrote the ConfigMap: the number of values is bounded,
// and amounts below zero count as zero. kInvalid: `text` is no such JSON.
Result<QueueSpend> DecodeSpend(std::string_view text);

}  // namespace berth::api
