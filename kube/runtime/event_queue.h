// kube/runtime/event_queue.h — the events of one rank that wait to be written, oldest first.
//
// Of two events with the same object and reason, the earlier one is superseded: the later one says
// more about the present.
//
// Pure. Threads: one. Errors: none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kube/runtime/event_type.h"

namespace berth::kube {

// Events that agree in these four fields are one event that repeats.
struct EventSeries {
  std::string object;  // uid or key
  EventType type = EventType::kNormal;
  std::string reason;
  std::string text;

  auto operator<=>(const EventSeries&) const = default;
};

class EventQueue {
 public:
  enum class Superseded : std::uint8_t {
    kGivesWay,  // the later event takes the place of the superseded one
    kStays,     // while there is room; a full queue drops superseded events first
  };

  // `bound`: events in the queue, at least 1.
  EventQueue(std::size_t bound, Superseded superseded) : bound_(bound), superseded_(superseded) {}

  struct Pushed {
    std::uint64_t place = 0;               // the event's place
    const EventSeries* dropped = nullptr;  // an event that has lost its place; null: none
  };
  // `series` must outlive its time in the queue.
  Pushed Push(const EventSeries& series);
  // Removes the oldest event; null: the queue is empty.
  const EventSeries* Pop();
  void Remove(std::uint64_t place);

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  using Topic = std::pair<std::string, std::string>;  // object, reason
  using Waiting = std::map<std::uint64_t, const EventSeries*>;

  const EventSeries* Take(Waiting::iterator which);

  const std::size_t bound_;
  const Superseded superseded_;
  std::uint64_t next_place_ = 0;
  Waiting waiting_;
  std::map<Topic, std::uint64_t> newest_;  // the place of the newest event of each topic
  std::set<std::uint64_t> older_;          // the places of the superseded events
};

}  // namespace berth::kube
