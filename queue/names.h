// queue/names.h — maps names to small numbers and back, so that the deciding parts compare and
// index numbers. A name keeps its number until its release; numbers are dense from 0, and released
// numbers are reused.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>  // lookup only
#include <vector>

namespace berth::queue {

class Names {
 public:
  static constexpr std::int32_t kNone = -1;

  std::int32_t Intern(std::string_view name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(names_.size()));
      names_.emplace_back();
    }
    const std::int32_t id = free_.back();
    free_.pop_back();
    std::string& kept = names_[static_cast<std::size_t>(id)];
    kept = name;
    ids_.emplace(kept, id);
    return id;
  }

  // Releases the number, which no other object may use.
  void Release(std::int32_t id) {
    std::string& released = names_[static_cast<std::size_t>(id)];
    ids_.erase(released);
    released = {};
    free_.push_back(id);
  }

  // Returns kNone where the name has no number.
  std::int32_t Find(std::string_view name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? kNone : found->second;
  }

  const std::string& operator[](std::int32_t id) const {
    return names_[static_cast<std::size_t>(id)];
  }
  // Greater than every number.
  std::int32_t size() const { return static_cast<std::int32_t>(names_.size()); }

 private:
  std::deque<std::string> names_;  // stable addresses: the map's keys point into it
  std::vector<std::int32_t> free_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // looked up, never walked
};

}  // namespace berth::queue
