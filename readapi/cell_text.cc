#include "readapi/cell_text.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/rfc3339.h"
#include "base/strings.h"

namespace berth::readapi {

std::string QuoteJson(std::string_view text) { return api::FormatJson(std::string(text)); }

std::int64_t SortKeyOf(FieldType type, std::string_view cell) {
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  if (type == FieldType::kTime && cell.size() > 2 && cell.front() == '"') {
    const auto time = ParseTime(cell.substr(1, cell.size() - 2));
    return time ? time->time_since_epoch().count() : kLast;
  }
  return ParseInt64(cell).value_or(kLast);
}

}  // namespace berth::readapi
