// view/screens/text.h — tables, bars and wrapping for a terminal. Pure: text in, text out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/quantity.h"

namespace berth::view {

// The style of a screen, decided once from the terminal, the locale and the flags.
struct TextStyle {
  std::size_t width = 0;  // columns of the terminal; 0: unbounded (a pipe), no wrapping
  bool ascii = false;     // bars and marks in ASCII
  bool color = false;     // color repeats information that the text has
  // Instants in place of spans until now, for texts that are read later.
  bool absolute_times = false;
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

// Columns as wide as their widest cell, two blanks apart. The last column wraps between words at
// the style's width, with indented continuation lines; it is never cut.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }
  std::string Render(const TextStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Ten cells, filled in proportion: "████░░░░░░" or "####......". Usage above `whole` gives a full
// bar; usage above zero at least one cell; an infinite `whole` an empty bar.
std::string Bar(api::Amount used, api::Amount whole, const TextStyle& style);

// Whether the amount means "no limit": 10^9 items or more.
bool IsInfinite(std::string_view resource, api::Amount amount);
// Kubernetes' notation; whole GPUs (berth.dev/gpus) in hundredths.
std::string ShowFinite(std::string_view resource, api::Amount amount);
// ShowFinite; "∞" (ASCII: "inf") for infinite amounts.
std::string ShowAmount(std::string_view resource, api::Amount amount, const TextStyle& style);

// The unit of an Amount in JSON: "milliCPU", "bytes" or "items".
const char* UnitOf(std::string_view resource);

// The columns of `text`: UTF-8 code points without control sequences.
std::size_t DisplayWidth(std::string_view text);

enum class Color { kRed, kGreen, kYellow, kDim, kBold };
std::string Paint(std::string_view text, Color color, const TextStyle& style);

}  // namespace berth::view
