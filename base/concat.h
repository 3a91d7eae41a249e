// base/concat.h — joins several texts into one string with one allocation.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace berth {

inline std::string Concat(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string text;
  text.reserve(size);
  for (const std::string_view part : parts) text += part;
  return text;
}

}  // namespace berth
