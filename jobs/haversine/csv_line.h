// jobs/haversine/csv_line.h — parses a line of a CSV file: finds columns, reads four numbers.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::haversine {

// A decimal number, correctly rounded; blanks around it are allowed, other text is not.
std::optional<double> ParseCoordinate(std::string_view text);

class CsvLayout {
 public:
  // Parses a header line. kInvalid names the missing columns and the present ones.
  static Result<CsvLayout> FromHeader(std::string_view line);

  // The coordinates of a line, in the order of kColumnNames. kInvalid names the column.
  Result<std::array<double, 4>> Parse(std::string_view line) const;

 private:
  struct Wanted {
    std::size_t field = 0;   // position in a line
    std::size_t column = 0;  // index in kColumnNames
  };
  std::array<Wanted, 4> wanted_;  // by rising `field`
  std::size_t field_count_ = 0;
};

}  // namespace berth::haversine
