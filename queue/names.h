// queue/names.h — maps names to small numbers and back, so that the deciding parts compare and
// index numbers. A name keeps its number until its release; numbers are dense from 0, and released
// numbers are reused.
//
// A tenant may write any number of names: such names are lent. A lent name is released when its
// number has no holders and kMostIdle other names have lost theirs since: messages of decisions
// made with the number can still name it.
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

  static constexpr std::size_t kMostIdle = 1024;

  // The number is valid until its Release.
  std::int32_t Intern(std::string_view name) {
    const std::int32_t id = NumberOf(name);
    uses_[static_cast<std::size_t>(id)].interned = true;
    return id;
  }

  // The number is valid until the next Drop, or while it has holders.
  std::int32_t Lend(std::string_view name) {
    const std::int32_t id = NumberOf(name);
    NoteIdle(id);
    return id;
  }
  void Hold(std::int32_t id) { ++uses_[static_cast<std::size_t>(id)].holders; }
  // Takes one Hold back.
  void Drop(std::int32_t id) {
    --uses_[static_cast<std::size_t>(id)].holders;
    NoteIdle(id);
    while (idle_.size() > kMostIdle) {
      const std::int32_t oldest = idle_.front();
      idle_.pop_front();
      Use& oldest_use = uses_[static_cast<std::size_t>(oldest)];
      oldest_use.idle = false;
      if (oldest_use.used && oldest_use.holders == 0 && !oldest_use.interned) Release(oldest);
    }
  }

  // Releases the number, which no other object may use.
  void Release(std::int32_t id) {
    std::string& released = names_[static_cast<std::size_t>(id)];
    ids_.erase(released);
    released = {};
    Use& use = uses_[static_cast<std::size_t>(id)];
    use.used = use.interned = false;
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
  struct Use {
    std::int64_t holders = 0;
    bool used = false;  // a name has the number
    bool interned = false;
    bool idle = false;  // in idle_
  };

  std::int32_t NumberOf(std::string_view name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    if (free_.empty()) {
      free_.push_back(static_cast<std::int32_t>(names_.size()));
      names_.emplace_back();
      uses_.emplace_back();
    }
    const std::int32_t id = free_.back();
    free_.pop_back();
    std::string& kept = names_[static_cast<std::size_t>(id)];
    kept = name;
    ids_.emplace(kept, id);
    uses_[static_cast<std::size_t>(id)].used = true;
    return id;
  }

  void NoteIdle(std::int32_t id) {
    Use& use = uses_[static_cast<std::size_t>(id)];
    if (use.holders > 0 || use.interned || use.idle) return;
    use.idle = true;
    idle_.push_back(id);
  }

  std::deque<std::string> names_;  // stable addresses: the map's keys point into it
  std::vector<Use> uses_;          // by number
  std::deque<std::int32_t> idle_;  // the oldest first; some have got holders since
  std::vector<std::int32_t> free_;
  std::unordered_map<std::string_view, std::int32_t> ids_;  // looked up, never walked
};

}  // namespace berth::queue
