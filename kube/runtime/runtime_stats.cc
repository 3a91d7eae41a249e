#include "kube/runtime/runtime_stats.h"

#include <algorithm>

namespace berth::kube {
namespace {

// The buckets of controller-runtime and of client-go's queues, in seconds.
const std::vector<double> kLookBounds{0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,  0.35,
                                      0.4,   0.45, 0.5,   0.6,  0.7, 0.8,  0.9, 1,    1.25, 1.5,
                                      1.75,  2,    2.5,   3,    3.5, 4,    4.5, 5,    6,    7,
                                      8,     9,    10,    15,   20,  25,   30,  40,   50,   60};
const std::vector<double> kQueueBounds{1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                       1e-2, 1e-1, 1,    10,   100,  1000};

}  // namespace

void DurationCounts::Add(Duration duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const auto bound = std::lower_bound(bounds_.begin(), bounds_.end(), seconds);
  ++counts_[static_cast<std::size_t>(bound - bounds_.begin())];
  sum_seconds_ += seconds;
}

ControllerStats::ControllerStats(const Clock& clock)
    : clock_(clock),
      figures_{.look_times = DurationCounts(kLookBounds),
               .queue_times = DurationCounts(kQueueBounds),
               .begun = {}} {}

void ControllerStats::AllowConcurrent(std::size_t count) {
  const std::lock_guard lock(mutex_);
  figures_.max_concurrent += count;
}

void ControllerStats::OnAdded() {
  const std::lock_guard lock(mutex_);
  ++figures_.adds;
  ++figures_.waiting;
}

void ControllerStats::OnTaken(SteadyTime added) {
  const SteadyTime now = Now();
  const std::lock_guard lock(mutex_);
  --figures_.waiting;
  figures_.queue_times.Add(now - added);
}

void ControllerStats::OnRetry() {
  const std::lock_guard lock(mutex_);
  ++figures_.retries;
}

void ControllerStats::OnBegun(SteadyTime begun) {
  const std::lock_guard lock(mutex_);
  figures_.begun.insert(begun);
}

void ControllerStats::OnLooked(SteadyTime begun, LookResult result) {
  const SteadyTime now = Now();
  const std::lock_guard lock(mutex_);
  if (const auto open = figures_.begun.find(begun); open != figures_.begun.end()) {
    figures_.begun.erase(open);
  }
  ++figures_.looks[static_cast<std::size_t>(result)];
  figures_.look_times.Add(now - begun);
}

ControllerStats::Figures ControllerStats::Read() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

ControllerStats& RuntimeStats::Of(std::string_view controller) {
  const std::lock_guard lock(mutex_);
  return controllers_.try_emplace(std::string(controller), clock_).first->second;
}

void RuntimeStats::OnRequest(const std::string& method, const std::string& code) {
  const std::lock_guard lock(mutex_);
  ++requests_[{method, code}];
}

std::map<std::string, ControllerStats::Figures> RuntimeStats::Controllers() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, ControllerStats::Figures> figures;
  for (const auto& [name, stats] : controllers_) figures.emplace(name, stats.Read());
  return figures;
}

std::map<RuntimeStats::Request, std::uint64_t> RuntimeStats::Requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace berth::kube
