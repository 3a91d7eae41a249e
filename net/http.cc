#include "net/http.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace berth::net {

std::string_view Headers::Find(std::string_view name) const {
  for (const Header& header : headers_) {
    if (EqualsIgnoreCase(header.name, name)) return header.value;
  }
  return {};
}

bool Headers::Has(std::string_view name) const {
  return std::any_of(headers_.begin(), headers_.end(),
                     [&](const Header& header) { return EqualsIgnoreCase(header.name, name); });
}

void Headers::Set(std::string_view name, std::string value) {
  const auto is_other = [&](const Header& header) { return !EqualsIgnoreCase(header.name, name); };
  const auto first = std::find_if_not(headers_.begin(), headers_.end(), is_other);
  if (first == headers_.end()) {
    headers_.push_back({std::string(name), std::move(value)});
    return;
  }
  first->value = std::move(value);
  const auto rest = std::stable_partition(first + 1, headers_.end(), is_other);
  headers_.erase(rest, headers_.end());
}

}  // namespace berth::net
