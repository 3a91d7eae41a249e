#include "simulation/csv_fields.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "simulation/trace.h"

namespace berth::simulation {
namespace {

constexpr std::size_t kMaxShown = 40;  // bytes of a wrong value in a message

}  // namespace

std::string ShownInMessage(std::string_view value) {
  std::string text = "\"" + ReplaceInvalidUtf8(TruncateUtf8(value, kMaxShown));
  return text + (value.size() > kMaxShown ? "…\"" : "\"");
}

Status SplitCsvFields(std::string_view line, std::int64_t number, std::vector<CsvField>& fields) {
  fields.clear();
  std::size_t at = 0;
  while (true) {
    if (fields.size() == kMaxCsvColumns) {
      return TraceError(number, at + 1,
                        "more than " + std::to_string(kMaxCsvColumns) + " columns in a line");
    }
    CsvField field{.value = "", .column = at + 1};
    if (at < line.size() && line[at] == '"') {
      bool closed = false;
      for (++at; at < line.size() && !closed; ++at) {
        if (line[at] != '"') {
          field.value += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field.value += line[at++];
        } else {
          closed = true;
        }
      }
      if (!closed) return TraceError(number, field.column, "the quote is not closed in its line");
      if (at < line.size() && line[at] != ',') {
        return TraceError(number, at + 1, "expected a comma after the closing quote");
      }
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field.value = TrimSpace(line.substr(at, end - at));
      at = end;
    }
    fields.push_back(std::move(field));
    if (at >= line.size()) return OkStatus();
    ++at;  // the comma
  }
}

}  // namespace berth::simulation
