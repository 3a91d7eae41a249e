// queue/names.h — names to small numbers and back, so that the deciding parts compare and index
// numbers. A name keeps its number for good; numbers are dense from 0.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>  // lookup only

namespace berth::queue {

class Names {
 public:
  static constexpr std::int32_t kNone = -1;

  std::int32_t Intern(std::string_view name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    names_.emplace_back(name);
    const auto id = static_cast<std::int32_t>(names_.size() - 1);
    ids_.emplace(names_.back(), id);
    return id;
  }

  // kNone when it was never interned.
  std::int32_t Find(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kNone : found->second;
  }

  const std::string& operator[](std::int32_t id) const {
    return names_[static_cast<std::size_t>(id)];
  }
  std::int32_t size() const { return static_cast<std::int32_t>(names_.size()); }

 private:
  std::deque<std::string> names_;  // stable addresses: the map's keys point into it
  std::unordered_map<std::string_view, std::int32_t> ids_;  // looked up, never walked
};

}  // namespace berth::queue
