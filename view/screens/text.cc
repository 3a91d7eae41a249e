#include "view/screens/text.h"

#include <algorithm>

#include "base/strings.h"

namespace berth::view {
namespace {

constexpr std::size_t kBarCells = 10;
constexpr std::size_t kColumnGap = 2;
constexpr std::size_t kNarrowestLastColumn = 24;

std::string Padded(const std::string& cell, std::size_t width, Align align) {
  const std::size_t have = DisplayWidth(cell);
  const std::string blanks(width > have ? width - have : 0, ' ');
  return align == Align::kRight ? blanks + cell : cell + blanks;
}

// Breaks `text` between words into lines of at most `width` columns; a longer word stays whole.
std::vector<std::string> Wrap(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (const std::string_view word : Split(text, ' ')) {
    const std::size_t needed = DisplayWidth(line) + (line.empty() ? 0 : 1) + DisplayWidth(word);
    if (!line.empty() && needed > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  lines.push_back(std::move(line));
  return lines;
}

void TrimRight(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

const char* UnitOf(std::string_view resource) {
  if (resource == "cpu") return "milliCPU";
  const bool is_memory =
      resource == "memory" || resource == "ephemeral-storage" || resource.starts_with("hugepages-");
  return is_memory ? "bytes" : "items";
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  bool in_escape = false;
  for (const char c : text) {
    if (in_escape) {
      in_escape = c != 'm';
    } else if (c == '\x1b') {
      in_escape = true;
    } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
      ++width;
    }
  }
  return width;
}

std::string TextTable::Render(const TextStyle& style) const {
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size() && i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row[i]));
    }
  }
  std::size_t last_begins_at = 0;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) last_begins_at += widths[i] + kColumnGap;

  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i + 1 < columns_.size(); ++i) {
      line += Padded(i < cells.size() ? cells[i] : "", widths[i], columns_[i].align);
      line.append(kColumnGap, ' ');
    }
    std::vector<std::string> last{cells.size() == columns_.size() ? cells.back() : ""};
    if (columns_.back().align == Align::kRight) {
      last.front() = Padded(last.front(), widths.back(), Align::kRight);
    } else if (style.width > last_begins_at + kNarrowestLastColumn) {
      last = Wrap(last.front(), style.width - last_begins_at);
    }
    for (const std::string& part : last) {
      line += part;
      TrimRight(line);
      out += line + "\n";
      line = std::string(last_begins_at, ' ');
    }
  };
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  add_line(titles);
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string Bar(api::Amount used, api::Amount whole, const TextStyle& style) {
  std::size_t filled = 0;
  if (used > 0 && whole > 0) {
    const double share = static_cast<double>(used) / static_cast<double>(whole);
    filled =
        share >= 1.0 ? kBarCells : static_cast<std::size_t>(share * static_cast<double>(kBarCells));
    if (filled == 0 && share > 1e-6) filled = 1;
  } else if (used > 0) {
    filled = kBarCells;
  }
  const std::string_view full_cell = style.ascii ? "#" : "█";
  const std::string_view empty_cell = style.ascii ? "." : "░";
  std::string bar;
  for (std::size_t i = 0; i < kBarCells; ++i) bar += i < filled ? full_cell : empty_cell;
  return bar;
}

bool IsInfinite(std::string_view resource, api::Amount amount) {
  constexpr api::Amount kItems = 1'000'000'000;
  if (resource == "cpu") return amount >= kItems * 1000;
  if (resource == api::kGpusResource) return amount >= kItems * api::kUnitsPerGpu;
  if (api::ToQuantity(resource, 1).format() == api::Quantity::Format::kBinarySI) {
    return amount >= kItems * 1024 * 1024;  // a pebibyte or more
  }
  return amount >= kItems;
}

namespace {

// In hundredths: three shares of a third each are one GPU.
std::string ShowGpus(api::Amount amount) {
  constexpr api::Amount kPerHundredth = api::kUnitsPerGpu / 100;
  const api::Amount hundredths = (amount + kPerHundredth / 2) / kPerHundredth;
  std::string text = std::to_string(hundredths / 100);
  const api::Amount tenth = hundredths / 10 % 10;
  const api::Amount hundredth = hundredths % 10;
  if (tenth != 0 || hundredth != 0) text += "." + std::to_string(tenth);
  if (hundredth != 0) text += std::to_string(hundredth);
  return text;
}

}  // namespace

std::string ShowFinite(std::string_view resource, api::Amount amount) {
  if (resource == api::kGpusResource && amount >= 0) return ShowGpus(amount);
  return api::FormatAmount(resource, amount);
}

std::string ShowAmount(std::string_view resource, api::Amount amount, const TextStyle& style) {
  if (IsInfinite(resource, amount)) return style.ascii ? "inf" : "∞";
  return ShowFinite(resource, amount);
}

std::string Paint(std::string_view text, Color color, const TextStyle& style) {
  if (!style.color) return std::string(text);
  std::string_view code;
  switch (color) {
    case Color::kRed: code = "31"; break;
    case Color::kGreen: code = "32"; break;
    case Color::kYellow: code = "33"; break;
    case Color::kDim: code = "2"; break;
    case Color::kBold: code = "1"; break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace berth::view
