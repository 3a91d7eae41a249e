#include "admission/cycle/second_passes.h"

#include <algorithm>

namespace berth::admission {
namespace {

constexpr Duration kFirstWait = std::chrono::seconds(1);
constexpr int kMaxDoublings = 5;  // at most 30 s
constexpr Duration kLongestWait = std::chrono::seconds(30);

}  // namespace

void SecondPasses::Add(WorkloadId id, WallTime now) {
  passes_.try_emplace(id, Pass{now + kFirstWait, 0});
}

void SecondPasses::PutOff(WorkloadId id, WallTime now) {
  Pass& pass = passes_.at(id);
  pass.attempts = std::min(pass.attempts + 1, kMaxDoublings);
  pass.due = now + std::min(kFirstWait * (1 << pass.attempts), kLongestWait);
}

std::optional<WallTime> SecondPasses::Next() const {
  if (passes_.empty()) return std::nullopt;
  return std::min_element(passes_.begin(), passes_.end(),
                          [](const auto& a, const auto& b) { return a.second.due < b.second.due; })
      ->second.due;
}

std::vector<WorkloadId> SecondPasses::Due(WallTime now) const {
  std::vector<WorkloadId> due;
  for (const auto& [id, pass] : passes_) {
    if (pass.due <= now) due.push_back(id);
  }
  return due;
}

}  // namespace berth::admission
