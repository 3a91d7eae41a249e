#include "local/apiserver/http/exposition_text.h"

#include <array>
#include <cstdio>

namespace berth::local {

void ExpositionText::Family(std::string_view name, std::string_view type, std::string_view help) {
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void ExpositionText::Begin(std::string_view name, const LabelList& labels) {
  text_.append(name);
  if (labels.empty()) return;
  char separator = '{';
  for (const auto& [label, value] : labels) {
    text_.push_back(separator);
    separator = ',';
    text_.append(label).append("=\"");
    for (const char c : value) {
      if (c == '\n') {
        text_.append("\\n");
        continue;
      }
      if (c == '"' || c == '\\') text_.push_back('\\');
      text_.push_back(c);
    }
    text_.push_back('"');
  }
  text_.push_back('}');
}

void ExpositionText::Sample(std::string_view name, const LabelList& labels, std::uint64_t value) {
  Begin(name, labels);
  text_.append(" ").append(std::to_string(value)).append("\n");
}

void ExpositionText::Sample(std::string_view name, const LabelList& labels, double value) {
  Begin(name, labels);
  text_.append(" ").append(Number(value)).append("\n");
}

std::string ExpositionText::Number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.15g", value);
  return text.data();
}

}  // namespace berth::local
