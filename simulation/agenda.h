// simulation/agenda.h — numbered events, each with its time, in the order of times, then of
// numbers.
//
// Threads: one. Errors: none.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <utility>

namespace berth::simulation {

// `Time`: an instant of virtual time, or the number of a cycle.
template <typename Time>
class Agenda {
 public:
  // A number may stand at several times.
  void Add(Time time, std::size_t number) { entries_.insert({time, number}); }
  // No effect if there is no such entry.
  void Remove(Time time, std::size_t number) { entries_.erase({time, number}); }

  std::size_t size() const { return entries_.size(); }
  // The time of the first entry; nullopt: there is none.
  std::optional<Time> Next() const {
    if (entries_.empty()) return std::nullopt;
    return entries_.begin()->first;
  }
  // Takes the first entry whose time has come; nullopt: there is none.
  std::optional<std::size_t> TakeDue(Time now) {
    if (entries_.empty() || now < entries_.begin()->first) return std::nullopt;
    const std::size_t number = entries_.begin()->second;
    entries_.erase(entries_.begin());
    return number;
  }

 private:
  std::set<std::pair<Time, std::size_t>> entries_;
};

}  // namespace berth::simulation
