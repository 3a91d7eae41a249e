#include "jobs/haversine/csv_line.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/strings.h"
#include "jobs/haversine/trip.h"

namespace berth::haversine {
namespace {

constexpr std::size_t kShownBytes = 40;  // the part of a bad value that a message shows

// Takes the next field off `rest`, quotes removed. `rest` must have one.
std::string_view TakeField(std::string_view& rest, bool& more) {
  std::size_t start = 0;
  std::size_t length = 0;
  std::size_t comma = 0;
  if (!rest.empty() && rest.front() == '"') {
    const std::size_t quote = rest.find('"', 1);
    start = 1;
    length = (quote == std::string_view::npos ? rest.size() : quote) - 1;
    comma = quote == std::string_view::npos ? quote : rest.find(',', quote);
  } else {
    comma = rest.find(',');
    length = std::min(comma, rest.size());
  }
  const std::string_view field = rest.substr(start, length);
  more = comma != std::string_view::npos;
  rest = more ? rest.substr(comma + 1) : std::string_view();
  return field;
}

Error BadField(std::size_t column, const std::string& what) {
  return Error{ErrorCode::kInvalid, "column " + std::string(kColumnNames[column]) + ": " + what};
}

// The common case: takes an optional sign, at most 15 digits and one point off `rest`, and the
// comma behind them, in one pass. Exact, because digits and power of ten are exact doubles. False:
// the field is another one, and `rest` is as it was.
bool TakeShortDecimal(std::string_view& rest, bool& more, double& value) {
  static constexpr std::array<double, 16> kPowersOfTen = {
      1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const char* const end = rest.data() + rest.size();
  const char* at = rest.data();
  const bool negative = at != end && *at == '-';
  at += negative ? 1 : 0;
  std::uint64_t digits = 0;
  const auto take_digits = [&] {
    const char* const first = at;
    // A sixteenth digit ends the common case below.
    for (; at != end && at - first < 16; ++at) {
      const auto digit = static_cast<unsigned char>(*at - '0');
      if (digit > 9) break;
      digits = digits * 10 + digit;
    }
    return static_cast<std::size_t>(at - first);
  };
  const std::size_t before = take_digits();
  std::size_t after = 0;
  if (before > 15) return false;
  if (at != end && *at == '.') {
    ++at;
    after = take_digits();
  }
  if (before + after == 0 || before + after > 15 || (at != end && *at != ',')) return false;
  value = static_cast<double>(digits) / kPowersOfTen[after];
  if (negative) value = -value;
  more = at != end;
  rest.remove_prefix(static_cast<std::size_t>(at - rest.data()) + (more ? 1 : 0));
  return true;
}

}  // namespace

std::optional<double> ParseCoordinate(std::string_view text) {
  text = TrimSpace(text);
  if (text.empty()) return std::nullopt;
  if (text.front() == '+' && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<CsvLayout> CsvLayout::FromHeader(std::string_view line) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  std::vector<std::string> names;
  for (bool more = true; more;) names.push_back(ToLower(TrimSpace(TakeField(line, more))));

  CsvLayout layout;
  layout.field_count_ = names.size();
  std::vector<std::string> missing;
  for (std::size_t column = 0; column < kColumnNames.size(); ++column) {
    const auto found = std::find(names.begin(), names.end(), kColumnNames[column]);
    if (found == names.end()) {
      missing.emplace_back(kColumnNames[column]);
    } else {
      layout.wanted_[column] = {static_cast<std::size_t>(found - names.begin()), column};
    }
  }
  if (!missing.empty()) {
    std::string there = Join(names, ", ");
    if (there.size() > 400) there = std::string(TruncateUtf8(there, 400)) + "…";
    return Error{ErrorCode::kInvalid,
                 "the header has no column " + Join(missing, ", ") + "; it has: " + there};
  }
  std::sort(layout.wanted_.begin(), layout.wanted_.end(),
            [](const Wanted& a, const Wanted& b) { return a.field < b.field; });
  return layout;
}

Result<std::array<double, 4>> CsvLayout::Parse(std::string_view line) const {
  std::array<double, 4> trip{};
  std::string_view rest = line;
  bool more = true;
  std::size_t field = 0;
  for (const Wanted& wanted : wanted_) {
    for (; more && field < wanted.field; ++field) TakeField(rest, more);
    if (!more) {
      return BadField(wanted.column, "missing: the line has " + std::to_string(field) +
                                         " columns, the header " + std::to_string(field_count_));
    }
    ++field;
    if (TakeShortDecimal(rest, more, trip[wanted.column])) continue;
    const std::string_view text = TakeField(rest, more);
    const auto value = ParseCoordinate(text);
    if (!value) {
      return BadField(wanted.column,
                      "\"" + std::string(TruncateUtf8(text, kShownBytes)) + "\" is not a number");
    }
    trip[wanted.column] = *value;
  }
  return trip;
}

}  // namespace berth::haversine
