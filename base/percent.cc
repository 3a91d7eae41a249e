#include "base/percent.h"

namespace berth {

std::string PercentEncode(std::string_view text, std::string_view marks) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || marks.find(c) != std::string_view::npos;
    if (is_plain) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += '%';
    escaped += kDigits[byte >> 4U];
    escaped += kDigits[byte & 0xfU];
  }
  return escaped;
}

}  // namespace berth
