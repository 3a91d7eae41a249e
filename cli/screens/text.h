// cli/screens/text.h — tables, bars and wrapping for a terminal. Pure: text in, text out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/quantity.h"

namespace berth::cli {

// How a screen is drawn; decided once from the terminal, the locale and the flags.
struct TextStyle {
  std::size_t width = 0;  // columns of the terminal; 0: unbounded (piped), nothing wraps
  bool ascii = false;     // bars and marks in ASCII
  bool color = false;     // never the only carrier of meaning
};

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

// Columns as wide as their widest cell, two blanks apart. The last column wraps at the style's
// width, between words, and goes on under itself; it is never cut.
class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void AddRow(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  std::string Render(const TextStyle& style) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// Ten cells, filled in proportion: "████░░░░░░" or "####......". More than `whole` is a full bar; a
// use above zero shows at least one cell; an infinite `whole` gives an empty bar.
std::string Bar(api::Amount used, api::Amount whole, const TextStyle& style);

// What counts as "no limit" in practice: 10^9 items or more.
bool IsInfinite(std::string_view resource, api::Amount amount);
// As Kubernetes writes it, "∞" (ASCII: "inf") for infinite amounts.
std::string ShowAmount(std::string_view resource, api::Amount amount, const TextStyle& style);

// The unit of an Amount, for machines: "milliCPU", "bytes" or "items".
const char* UnitOf(std::string_view resource);

// How many columns `text` takes: UTF-8 code points, control sequences not counted.
std::size_t DisplayWidth(std::string_view text);

enum class Color { kRed, kGreen, kYellow, kDim, kBold };
std::string Paint(std::string_view text, Color color, const TextStyle& style);

}  // namespace berth::cli
