#include "base/dns_names.h"

#include <algorithm>

#include "base/strings.h"

namespace berth {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool IsDnsLabel(std::string_view text) {
  return !text.empty() && IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return IsLowerOrDigit(c) || c == '-'; });
}

bool IsDnsSubdomain(std::string_view text) {
  const auto labels = Split(text, '.');
  return std::all_of(labels.begin(), labels.end(), IsDnsLabel);
}

}  // namespace berth
