// program/eta_writer.h — forecasts of starts that are kept on the waiting Workloads: the annotation
// berth.dev/eta.
//
//     informers ──copy──▶ a thread of its own: draws of World ──▶ forecasts ──▶ news are written
//
// A round begins `interval` after the last one, or later if the last one took long: rounds take a
// twentieth of the time at most. A round makes fewer draws where there are more jobs.
//
// A forecast is written if its quantiles differ from those of the annotation by more than a fifth
// of the wait, and by at least a minute. A forecast is also written if the annotation is
// kEtaRefresh old. Writes are commentary (kube/runtime/write_pace.h), at most kMostOpen at once.
// Forecasts that are not written when the next round ends are replaced. The annotation of a
// Workload that has started stays as it is. A later forecast of a wait carries the first one, which
// says when the start was expected from afar.
//
// While this process leads, each start of a Workload with an annotation is judged by the first
// forecast of its wait, and recorded. The errors of these forecasts correct the next ones
// (simulation/calibration.h). So the annotation also has the forecast without the correction.
// Nothing else is stored: a new leader begins with the starts of the Workloads that are in the
// cluster.
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
  std::function<Duration()>
      wait;  // time until the next write may begin; zero: it may begin and is counted
  std::function<void(const api::Workload& workload, const std::string& annotation,
                     const std::string& value, std::function<void(Status)> done)>
      annotate;
  std::function<void(api::ForecastHit)> on_start;  // null: starts are not counted
  // Called when a deadline has come into danger: `in_time` of 100 futures keep it
  // (api::kSafeDeadline). Null: nothing is called.
  std::function<void(const api::Workload& workload, std::int32_t in_time)> on_danger;
  // Called after each round with the number of waiting Workloads whose deadlines are in danger, by
  // ClusterQueue.
  using Endangered = std::map<std::string, std::int64_t>;
  std::function<void(const Endangered& workloads)> on_endangered;
};

// Whether `after` differs enough from `before`, in the start or the deadline, to be written, or
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

  std::int64_t rounds() const { return rounds_; }  // rounds that have ended

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
  bool learned_ = false;                 // the starts before this process led are learned
  Forecasts due_;
  std::shared_ptr<EtaWriter*> self_ = std::make_shared<EtaWriter*>(this);
};

}  // namespace berth::program
