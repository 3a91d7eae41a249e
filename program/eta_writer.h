// program/eta_writer.h — forecasts of starts that are kept on the waiting Workloads: the annotation
// berth.dev/eta.
//
//     informers ──copy──▶ a thread of its own: draws of World ──▶ forecasts ──▶ news are written
//
// A round begins `interval` after the last one, and later where the last one took long: forecasts
// take a twentieth of the time at most. A round makes fewer draws where there are more jobs.
//
// A forecast is written where its quantiles differ by more than a fifth of the wait, at least by a
// minute, from those of the annotation, and where the annotation is kRefresh old. Writes are
// commentary (kube/runtime/write_pace.h), kMostOpen at once; what is not written when the next
// round ends is replaced. The annotation of a Workload that has started stays as it is. A later
// forecast of a wait carries the first one, which says when the start was expected from afar.
//
// While this process leads, each start of a Workload with an annotation is judged by the first
// forecast of its wait, and recorded. What these forecasts missed corrects the next ones
// (simulation/calibration.h): the annotation has the forecast as it was drawn, too. Nothing else is
// kept: a new leader begins with the starts of the Workloads that are in the cluster.
//
// Threads: the manager's Executor, but for the draws. The arguments must outlive the writer;
// destroy it after Manager::Stop, while the Executor runs none of its tasks. The destructor waits
// for the draw that is under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "admission/driver.h"
#include "api/start_forecast.h"
#include "api/workload.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/runtime/manager.h"
#include "simulation/calibration.h"

namespace berth::program {

struct EtaWriterOptions {
  Duration interval = std::chrono::minutes(1);
  std::string ledger;  // file of past runs; empty: finished Workloads alone
  admission::DriverOptions driver;
};

// How annotations are written.
struct EtaWrites {
  std::function<Duration()> wait;  // until the next write may begin; zero: it begins, and counts
  std::function<void(const api::Workload& workload, const std::string& annotation,
                     const std::string& value, std::function<void(Status)> done)>
      annotate;
  std::function<void(api::ForecastHit)> on_start;  // null: nobody counts
  // A deadline has come into danger: so many of 100 futures keep it (api::kSafeDeadline); null:
  // nobody is told.
  std::function<void(const api::Workload& workload, std::int32_t in_time)> on_danger;
  // After each round, by ClusterQueue: the waiting Workloads whose deadlines are in danger.
  using Endangered = std::map<std::string, std::int64_t>;
  std::function<void(const Endangered& workloads)> on_endangered;
};

// Whether `after` says something that `before` does not, of the start or of the deadline, or
// `before` is kEtaRefresh old.
inline constexpr Duration kEtaRefresh = std::chrono::minutes(30);
bool IsNews(const api::StartForecast& before, const api::StartForecast& after);

class EtaWriter {
 public:
  static constexpr std::size_t kMostOpen = 4;
  using Task = std::function<void()>;
  // Runs one task at a time; null: a thread of the writer.
  using Background = std::function<void(Task)>;

  // Call before the controllers start.
  EtaWriter(kube::Manager& manager, const Clock& clock, EtaWrites writes, EtaWriterOptions options,
            Background background = nullptr);
  ~EtaWriter();
  EtaWriter(const EtaWriter&) = delete;
  EtaWriter& operator=(const EtaWriter&) = delete;

  std::int64_t rounds() const { return rounds_; }  // that have ended

 private:
  using Forecasts = std::map<api::ObjectKey, api::StartForecast>;
  struct Round;

  void Begin();
  void End(const Forecasts& forecasts, Duration took);
  void Pump();
  void PostAfter(Duration delay, void (EtaWriter::*step)());
  void Judge(const api::Workload& before, const api::Workload& after);
  void LearnFromCluster();
  void WatchDeadlines(const Forecasts& forecasts);

  kube::Manager& manager_;
  const Clock& clock_;
  const EtaWrites writes_;
  const EtaWriterOptions options_;
  Background background_;
  std::thread thread_;
  std::atomic<bool> cancelled_ = false;
  bool leads_ = false;
  bool stopped_ = false;
  bool pumping_ = false;
  std::size_t open_ = 0;
  std::int64_t rounds_ = 0;
  simulation::Calibration calibration_;  // learned from starts
  bool learned_ = false;                 // those that were before this process led
  Forecasts due_;
  std::shared_ptr<EtaWriter*> self_ = std::make_shared<EtaWriter*>(this);
};

}  // namespace berth::program
