#include "program/eta_writer.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/kinds.h"
#include "api/codec/start_forecast.h"
#include "api/deadline.h"
#include "api/reasons.h"
#include "base/log/log.h"
#include "base/threads/guarded.h"
#include "forecast/eta_pasts.h"
#include "forecast/forecast_cluster.h"
#include "ledger/ledger_reader.h"
#include "simulation/deadline_chance.h"
#include "simulation/present_workloads.h"

namespace berth::program {
namespace {

constexpr int kShare = 20;                   // a round takes 1/kShare of the time at most
constexpr std::int64_t kDrawnJobs = 20'000;  // the limit of all draws of a round together
constexpr int kMostRoundDraws = 30;
constexpr int kFewestRoundDraws = 5;
constexpr Duration kLeastNews = std::chrono::minutes(1);
constexpr int kNewsShare = 5;     // a fifth of the wait
constexpr int kLeastChance = 20;  // a number of 100 futures
constexpr std::chrono::hours kHistory{24 * 30};
constexpr double kLow = 0.1;
constexpr double kMedian = 0.5;
constexpr double kHigh = 0.9;

// Objects that informers share.
template <typename T>
using Shared = std::vector<std::shared_ptr<const T>>;

template <typename T>
Shared<T> SharedObjects(kube::Manager& manager) {
  Shared<T> objects;
  if (!manager.HasInformer(api::KindOf<T>())) return objects;
  for (const auto& each : manager.InformerFor<T>().objects()) objects.push_back(each);
  return objects;
}

template <typename T>
void CopyInto(const Shared<T>& objects, std::vector<T>& out) {
  out.reserve(objects.size());
  for (const auto& each : objects) out.push_back(*each);
}

bool Differs(const std::optional<WallTime>& before, const std::optional<WallTime>& after,
             WallTime now) {
  if (before.has_value() != after.has_value()) return true;
  if (!before) return false;
  const Duration shift = *before < *after ? *after - *before : *before - *after;
  return shift > std::max(kLeastNews, (*after - now) / kNewsShare);
}

bool InDanger(const std::optional<std::int32_t>& in_time) {
  return in_time && *in_time < api::kSafeDeadline;
}

bool ChanceDiffers(const std::optional<std::int32_t>& before,
                   const std::optional<std::int32_t>& after) {
  if (before.has_value() != after.has_value() || InDanger(before) != InDanger(after)) return true;
  return before && std::abs(*before - *after) > kLeastChance;
}

int DrawsOfRound(std::size_t jobs) {
  const std::int64_t fitting = kDrawnJobs / static_cast<std::int64_t>(jobs + 1);
  return static_cast<int>(std::clamp<std::int64_t>(fitting, kFewestRoundDraws, kMostRoundDraws));
}

bool IsAdmitted(const api::Workload& workload) {
  return api::IsTrue(workload.status.conditions, api::kAdmitted);
}

using Past = simulation::Calibration::Past;

// The ClusterQueue of each waiting Workload, by its LocalQueue.
using QueueNames = std::map<api::ObjectKey, std::string>;

QueueNames NamesOf(const Shared<api::LocalQueue>& local_queues) {
  QueueNames names;
  for (const auto& each : local_queues) names[each->meta.key()] = each->cluster_queue;
  return names;
}

const std::string& QueueOf(const api::Workload& workload, const QueueNames& names) {
  static const std::string kNone;
  const auto known = names.find({workload.meta.namespace_name, workload.spec.queue_name});
  return known == names.end() ? kNone : known->second;
}

std::vector<Past> WaitingPasts(const Shared<api::Workload>& workloads, const QueueNames& names,
                               WallTime now) {
  std::vector<Past> waiting;
  for (const auto& workload : workloads) {
    const auto pasts = forecast::WaitingPastsOf(*workload, QueueOf(*workload, names), now);
    waiting.insert(waiting.end(), pasts.begin(), pasts.end());
  }
  return waiting;
}

std::optional<std::int32_t> OfHundred(const std::optional<double>& chance) {
  if (!chance) return std::nullopt;
  return static_cast<std::int32_t>(std::lround(100 * *chance));
}

api::StartForecast Told(const simulation::JobForecast& forecast, WallTime at,
                        const simulation::Corrections& corrections,
                        const simulation::ForecastGroup& group) {
  const auto instant = [at](const std::optional<Duration>& wait) -> std::optional<WallTime> {
    if (!wait) return std::nullopt;
    return CutToSeconds(at + std::max(*wait, Duration::zero()));
  };
  const auto p10 = forecast.At(kLow);
  const auto p50 = forecast.At(kMedian);
  const auto p90 = forecast.At(kHigh);
  api::StartForecast told{
      .at = CutToSeconds(at), .p10 = instant(p10), .p50 = instant(p50), .p90 = instant(p90)};
  told.in_time = OfHundred(simulation::ChanceInTime(forecast));
  if (!p90) return told;
  const simulation::StartQuantiles raw{*p10, *p50, *p90};
  const simulation::Correction* correction = corrections.For(group, raw);
  if (correction == nullptr) return told;
  told.drawn = api::DrawnForecast{*told.p10, *told.p50, *told.p90};
  const simulation::StartQuantiles corrected = correction->Of(raw);
  told.p10 = instant(corrected.p10);
  told.p50 = instant(corrected.p50);
  told.p90 = instant(corrected.p90);
  told.in_time = OfHundred(simulation::ChanceInTime(forecast, raw, corrected));
  return told;
}

// Gives `made` the forecasts of the wait by which the start is judged. `first`: that of `known`.
void KeepJudged(const std::optional<api::StartForecast>& known,
                const std::optional<api::JudgedForecast>& first, api::StartForecast& made) {
  made.first = first;
  if (!first) return;
  made.later = known->later;
  if (!made.later && made.at - first->at >= simulation::kLaterAge) made.later = api::Alone(made);
}

}  // namespace

bool IsNews(const api::StartForecast& before, const api::StartForecast& after) {
  return after.at - before.at >= kEtaRefresh || ChanceDiffers(before.in_time, after.in_time) ||
         Differs(before.p10, after.p10, after.at) || Differs(before.p50, after.p50, after.at) ||
         Differs(before.p90, after.p90, after.at);
}

// What a round starts from, and its draws, which touch nothing but the round.
struct EtaWriter::Round {
  Round(kube::Manager& manager, WallTime now)
      : at(now),
        cluster_queues(SharedObjects<api::ClusterQueue>(manager)),
        cohorts(SharedObjects<api::Cohort>(manager)),
        local_queues(SharedObjects<api::LocalQueue>(manager)),
        flavors(SharedObjects<api::ResourceFlavor>(manager)),
        namespaces(SharedObjects<api::Namespace>(manager)),
        checks(SharedObjects<api::AdmissionCheck>(manager)),
        configs(SharedObjects<api::ProvisioningRequestConfig>(manager)),
        policies(SharedObjects<api::ProvisioningPolicy>(manager)),
        workloads(SharedObjects<api::Workload>(manager)),
        jobs(SharedObjects<api::Job>(manager)),
        requests(SharedObjects<api::ProvisioningRequest>(manager)) {
    const bool named = std::any_of(flavors.begin(), flavors.end(), [](const auto& flavor) {
      return !flavor->topology_name.empty();
    });
    if (!named) return;
    topologies = SharedObjects<api::Topology>(manager);
    nodes = SharedObjects<api::Node>(manager);
    pods = SharedObjects<api::Pod>(manager);
    std::erase_if(pods, [](const auto& pod) { return !view::UsesNodeForEver(*pod); });
  }

  bool AnyWaits() const {
    return std::any_of(workloads.begin(), workloads.end(),
                       [](const auto& each) { return view::IsWaiting(*each); });
  }

  view::ClusterView View() const {
    view::ClusterView view;
    view.now = at;
    CopyInto(cluster_queues, view.cluster_queues);
    CopyInto(cohorts, view.cohorts);
    CopyInto(local_queues, view.local_queues);
    CopyInto(flavors, view.flavors);
    CopyInto(namespaces, view.namespaces);
    CopyInto(checks, view.admission_checks);
    CopyInto(configs, view.provisioning_configs);
    CopyInto(policies, view.provisioning_policies);
    CopyInto(workloads, view.workloads);
    CopyInto(jobs, view.jobs);
    CopyInto(requests, view.provisioning_requests);
    CopyInto(topologies, view.topologies);
    CopyInto(nodes, view.topology_nodes);
    CopyInto(pods, view.topology_pods);
    return view;
  }

  std::vector<ledger::AttemptRecord> Attempts(const std::string& file) const {
    if (file.empty()) return {};
    auto reader = ledger::LedgerReader::Open(file);
    if (!reader) return {};
    ledger::HistoryFilter filter;
    filter.since = ledger::ToSeconds(at - kHistory);
    auto attempts = reader->Attempts(filter);
    return attempts ? *std::move(attempts) : std::vector<ledger::AttemptRecord>();
  }

  // The group of a forecast that is made now: the first one of a wait is made at submission.
  simulation::ForecastGroup GroupOf(const api::Workload& workload, std::string queue) const {
    const auto note = forecast::NoteOn(workload);
    const auto first = note ? forecast::FirstOfThisWait(workload, *note) : std::nullopt;
    return simulation::GroupAt(std::move(queue), first ? at - first->at : Duration::zero());
  }

  // `calibration` is made of starts.
  Forecasts Draw(const EtaWriterOptions& writer, simulation::Calibration calibration,
                 std::function<bool()> cancelled) const {
    const QueueNames names = NamesOf(local_queues);
    calibration.SetWaiting(WaitingPasts(workloads, names, at));
    const simulation::Corrections corrections = calibration.Now();
    forecast::ForecastCluster cluster =
        forecast::MakeForecastCluster(View(), Attempts(writer.ledger));
    cluster.world.driver = writer.driver;
    const forecast::ForecastJobs known = forecast::ForecastJobsOf(cluster);
    simulation::ForecastOptions options = forecast::ForecastOptionsOf(cluster);
    options.draws = DrawsOfRound(known.jobs.size());
    options.cancelled = std::move(cancelled);
    const simulation::Forecast forecast =
        simulation::MakeForecast(cluster.cluster, known.jobs, options);
    Forecasts made;
    for (std::size_t i = 0; i < known.jobs.size(); ++i) {
      const api::Workload& workload = *known.jobs[i].job.object;
      if (simulation::IsRunning(workload) || forecast.jobs[i].starts.empty()) continue;
      api::StartForecast& told = made[workload.meta.key()];
      told = Told(forecast.jobs[i], at, corrections, GroupOf(workload, QueueOf(workload, names)));
    }
    return made;
  }

  WallTime at;
  Shared<api::ClusterQueue> cluster_queues;
  Shared<api::Cohort> cohorts;
  Shared<api::LocalQueue> local_queues;
  Shared<api::ResourceFlavor> flavors;
  Shared<api::Namespace> namespaces;
  Shared<api::AdmissionCheck> checks;
  Shared<api::ProvisioningRequestConfig> configs;
  Shared<api::ProvisioningPolicy> policies;
  Shared<api::Workload> workloads;
  Shared<api::Job> jobs;
  Shared<api::ProvisioningRequest> requests;
  Shared<api::Topology> topologies;  // these three: where some flavor names a topology
  Shared<api::Node> nodes;
  Shared<api::Pod> pods;
};

EtaWriter::EtaWriter(kube::Manager& manager, const Clock& clock, EtaWrites writes,
                     EtaWriterOptions options, Background background)
    : manager_(manager),
      clock_(clock),
      writes_(std::move(writes)),
      options_(std::move(options)),
      background_(std::move(background)) {
  if (!background_) {
    background_ = [this](Task task) {
      if (thread_.joinable()) thread_.join();
      thread_ = StartThread("the thread of the forecasts of starts failed", std::move(task));
    };
  }
  manager_.OnLeaderStart([this] {
    leads_ = true;
    PostAfter(options_.interval, &EtaWriter::Begin);
  });
  manager_.OnLeaderStop([this] { stopped_ = true; });
  manager_.InformerFor<api::Workload>().AddHandler(
      {.on_update = [weak = std::weak_ptr(self_)](const auto& before, const auto& after) {
        if (const auto self = weak.lock()) (*self)->Judge(*before, *after);
      }});
}

// In the order of the starts: the last ones count.
void EtaWriter::LearnFromCluster() {
  learned_ = true;
  std::vector<forecast::StartPasts> starts;
  for (const auto& workload : manager_.InformerFor<api::Workload>().objects()) {
    starts.push_back(forecast::StartPastsOf(*workload));
  }
  calibration_ = forecast::CalibrationOf(std::move(starts));
}

void EtaWriter::Judge(const api::Workload& before, const api::Workload& after) {
  if (!leads_ || stopped_ || IsAdmitted(before) || !IsAdmitted(after)) return;
  const auto note = forecast::NoteOn(after);
  if (!note) return;
  const auto first = forecast::FirstOfThisWait(before, *note);
  if (!first) return;
  const api::Condition* admitted = api::FindCondition(after.status.conditions, api::kAdmitted);
  const WallTime started = admitted->last_transition_time;
  const auto& admission = after.status.admission;
  if (learned_) {
    const std::string queue = admission ? admission->cluster_queue : "";
    for (const Past& past : forecast::PastsOf(*note, queue, started, true)) {
      calibration_.Add(past);
    }
  }
  if (writes_.on_start) writes_.on_start(api::HitOf(*first, started));
}

EtaWriter::~EtaWriter() {
  cancelled_ = true;
  if (thread_.joinable()) thread_.join();
}

void EtaWriter::PostAfter(Duration delay, void (EtaWriter::*step)()) {
  manager_.executor().PostAfter(delay, [weak = std::weak_ptr(self_), step] {
    if (const auto self = weak.lock()) ((*self)->*step)();
  });
}

void EtaWriter::Begin() {
  if (stopped_) return;
  auto round = std::make_shared<const Round>(manager_, clock_.Now());
  if (!round->AnyWaits()) return End({}, Duration::zero());
  if (!learned_) LearnFromCluster();
  background_([this, round, calibration = calibration_, weak = std::weak_ptr(self_)] {
    const SteadyTime begun = clock_.SteadyNow();
    // A round that fails has no forecasts; the next one begins all the same.
    auto forecasts = std::make_shared<Forecasts>();
    RunGuarded("a forecast of starts failed", [&] {
      *forecasts = round->Draw(options_, calibration, [this] { return cancelled_.load(); });
    });
    const Duration took = clock_.SteadyNow() - begun;
    manager_.executor().Post([weak, forecasts, took] {
      if (const auto self = weak.lock()) (*self)->End(*forecasts, took);
    });
  });
}

void EtaWriter::End(const Forecasts& forecasts, Duration took) {
  if (stopped_) return;
  ++rounds_;
  due_.clear();
  WatchDeadlines(forecasts);
  const auto& workloads = manager_.InformerFor<api::Workload>();
  for (const auto& [key, forecast] : forecasts) {
    const auto workload = workloads.Get(key);
    if (workload == nullptr || !view::IsWaiting(*workload)) continue;
    const auto known = forecast::NoteOn(*workload);
    const auto first = known ? forecast::FirstOfThisWait(*workload, *known) : std::nullopt;
    if (known && first && !IsNews(*known, forecast)) continue;
    due_[key] = forecast;
    KeepJudged(known, first, due_[key]);
  }
  if (!pumping_) Pump();
  PostAfter(std::max(options_.interval, took * (kShare - 1)), &EtaWriter::Begin);
}

// The annotation of the last forecast tells which deadlines were in danger before: a new leader
// tells nobody twice.
void EtaWriter::WatchDeadlines(const Forecasts& forecasts) {
  EtaWrites::Endangered endangered;
  QueueNames names;  // read once a deadline is in danger
  for (const auto& [key, forecast] : forecasts) {
    if (!InDanger(forecast.in_time)) continue;
    const auto workload = manager_.InformerFor<api::Workload>().Get(key);
    if (workload == nullptr || !view::IsWaiting(*workload)) continue;
    if (names.empty()) names = NamesOf(SharedObjects<api::LocalQueue>(manager_));
    ++endangered[QueueOf(*workload, names)];
    const auto known = forecast::NoteOn(*workload);
    if (known && InDanger(known->in_time)) continue;
    if (writes_.on_danger) writes_.on_danger(*workload, *forecast.in_time);
  }
  if (writes_.on_endangered) writes_.on_endangered(endangered);
}

void EtaWriter::Pump() {
  pumping_ = false;
  while (!stopped_ && !due_.empty() && open_ < kMostOpen) {
    const Duration wait = writes_.wait();
    if (wait > Duration::zero()) {
      pumping_ = true;
      return PostAfter(wait, &EtaWriter::Pump);
    }
    const auto next = due_.extract(due_.begin());
    const auto workload = manager_.InformerFor<api::Workload>().Get(next.key());
    if (workload == nullptr || !view::IsWaiting(*workload)) continue;
    ++open_;
    writes_.annotate(*workload, api::kEtaAnnotation, api::EncodeStartForecast(next.mapped()),
                     [weak = std::weak_ptr(self_)](const Status&) {
                       const auto self = weak.lock();
                       if (self == nullptr) return;
                       --(*self)->open_;
                       if (!(*self)->pumping_) (*self)->Pump();
                     });
  }
}

}  // namespace berth::program
