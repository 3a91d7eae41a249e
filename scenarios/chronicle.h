// scenarios/chronicle.h — a log of a story, one line per event with its time: printed for a
// failed story, and hashed.
//
// Threads: one. The world must outlive it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/world/sim_world.h"

namespace berth::scenarios {

inline constexpr std::size_t kToldLines =
    120;  // the most events that are printed for a failed story

class Chronicle {
 public:
  explicit Chronicle(sim::SimWorld& world);

  void Note(const std::string& line);
  const std::vector<std::string>& lines() const { return lines_; }
  // The newest `limit` lines.
  std::string Text(std::size_t limit) const;
  // Jobs (and Workloads without one) in the order of their reservations, "ns/name".
  const std::vector<std::string>& reservations() const { return reservations_; }

 private:
  void OnEvent(const local::ResourceId& resource, const local::WatchEvent& event);
  void CompareConditions(const std::string& subject, const local::Json& before,
                         const local::Json& now);
  void CompareChecks(const std::string& subject, const local::Json& before, const local::Json& now);
  void CompareJob(const std::string& subject, const local::Json& before, const local::Json& now);

  sim::SimWorld& world_;
  std::vector<std::string> lines_;
  std::vector<std::string> reservations_;
  std::unique_ptr<local::WatchHandle> watch_;
};

}  // namespace berth::scenarios
