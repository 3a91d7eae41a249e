// api/codec/stock_memory.h — ClassStock as JSON, the value of the key `stock` of a ConfigMap, and
// back.
#pragma once

#include <string>
#include <string_view>

#include "api/stock_memory.h"
#include "base/result.h"

namespace berth::api {

std::string EncodeStock(const ClassStock& stock);
// The text is not trusted, whichever program wrote the ConfigMap: the number of values is bounded,
// the result is sorted, and of two entries with one key the first is kept. kInvalid: `text` is no
// such JSON.
Result<ClassStock> DecodeStock(std::string_view text);

}  // namespace berth::api
