// view/screens/find_named.h — finds an object of a view by its name.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace berth::view {

// Null: there is none.
template <typename T>
const T* FindNamed(const std::vector<T>& objects, const std::string& name) {
  const auto found = std::find_if(objects.begin(), objects.end(),
                                  [&name](const T& object) { return object.meta.name == name; });
  return found == objects.end() ? nullptr : &*found;
}

}  // namespace berth::view
