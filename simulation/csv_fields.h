// simulation/csv_fields.h — one line of comma-separated values as fields. Internal to the readers
// of traces.
//
// Threads: pure functions. Errors: kInvalid with line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::simulation {

inline constexpr std::size_t kMaxCsvColumns = 64;

struct CsvField {
  std::string value;
  std::size_t column = 1;  // the column of its first byte in the line
};

// Replaces `fields` by those of `line`; a quoted field may have commas, and "" for a quote.
Status SplitCsvFields(std::string_view line, std::int64_t number, std::vector<CsvField>& fields);

// A wrong value in a message: quoted, at most forty bytes.
std::string ShownInMessage(std::string_view value);

}  // namespace berth::simulation
