// readapi/cell_text.h — JSON values as text: the cells of rows.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "readapi/schema.h"

namespace berth::readapi {

// `text` as a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string QuoteJson(std::string_view text);

// The place of a cell in an order: numbers as they are, times in microseconds, anything else
// (null) behind all of them.
std::int64_t SortKeyOf(FieldType type, std::string_view cell);

}  // namespace berth::readapi
