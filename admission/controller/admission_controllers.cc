#include "admission/controller/admission_controllers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "admission/controller/feeds/pod_defaults_feed.h"
#include "admission/controller/feeds/topology_feed.h"
#include "admission/controller/loop/scheduler_loop.h"
#include "admission/controller/metrics/admission_metrics.h"
#include "admission/controller/metrics/labelled_metrics.h"
#include "admission/controller/metrics/metrics_feed.h"
#include "admission/controller/notes/pending_notes.h"
#include "admission/controller/queues/finalizers.h"
#include "admission/controller/queues/in_use.h"
#include "admission/controller/queues/queue_figures.h"
#include "admission/controller/queues/queue_reconcilers.h"
#include "admission/controller/queues/workload_tally.h"
#include "admission/controller/workloads/node_failures.h"
#include "admission/controller/workloads/priority_classes.h"
#include "admission/controller/workloads/workload_reconciler.h"
#include "admission/controller/workloads/workload_writer.h"
#include "api/reasons.h"
#include "kube/runtime/refused_write.h"

namespace berth::admission {
namespace {

constexpr int kMaxCohortDepth = 64;  // bounds cycles of parents
// Changes of workloads within this time are counted by one look at their queues.
constexpr Duration kCounterBatch = std::chrono::milliseconds(50);
constexpr char kByLocalQueue[] = "localQueue";   // "namespace/name"
constexpr char kByReservation[] = "reservedIn";  // ClusterQueue

// The values of the custom labels that Workloads give; null: none.
queue::PendingCounts::ValuesOf ValuesFor(const LabelledMetrics& series) {
  constexpr auto kWorkload = CustomMetricLabel::Source::kWorkload;
  if (!series.Has(kWorkload)) return nullptr;
  return [&series](const api::Workload& workload) {
    return series.ValuesOf(kWorkload, workload.meta);
  };
}

DriverOptions ListingNew(DriverOptions options, const LabelledMetrics& series) {
  options.scheduler.listing = queue::Listing::kNew;  // parked workloads get one note each
  options.scheduler.count_pending = true;
  options.scheduler.pending_values = ValuesFor(series);
  return options;
}

NodeFailureOptions NodeOptions(const FeatureGates& gates) {
  return {.replace_on_pod_termination = gates.tas_replace_node_on_pod_termination,
          .replace_on_taints = gates.tas_replace_node_on_node_taints,
          .replace_after_delay = gates.tas_replace_node_due_to_not_ready_over_fixed_time};
}

}  // namespace

// The scheduler stands on lines of the processor's cache, behind the series that it counts by.
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct AdmissionControllers::Impl {
  Impl(kube::Manager& the_manager, const Clock& the_clock, kube::EventRecorder& the_events,
       kube::Metrics& the_metrics, const AdmissionControllersOptions& options);

  kube::Controller& Add(kube::Reconciler& reconciler, bool enabled, std::size_t at_once) {
    return manager.AddController(reconciler, {.enabled = enabled, .max_concurrent = at_once});
  }
  QueueReconcilerParts MakeQueueParts();
  QueueStanding StandingOf(const std::string& name);
  void AddIndexes();
  void WatchWorkloads();
  void WatchLocalQueues();
  void WatchClusterQueues();
  template <typename T>
  void WatchUsed(kube::Controller& controller);
  void WatchCohorts();
  void OnTopologyFeed(TopologyFeed::Change change);

  void NoteStanding(const api::ClusterQueue& queue, bool active);
  void AddWorkloadsOf(const api::ClusterQueue& queue);
  void AddAllClusterQueues();
  void AddCohortsOf(const std::string& cluster_queue);
  void AddShares();
  void AddDeletedUsed();

  LabelledMetrics series;
  Driver driver;
  Scheduler& scheduler;  // the driver's scheduler
  kube::Manager& manager;
  const Clock& clock;
  kube::EventRecorder& events;
  kube::Informer<api::Workload>& workloads;
  kube::Informer<api::LocalQueue>& local_queues;
  kube::Informer<api::ClusterQueue>& cluster_queues;
  kube::Informer<api::Cohort>& cohorts;
  kube::Informer<api::ResourceFlavor>& flavors;
  kube::Informer<api::AdmissionCheck>& checks;
  kube::Informer<api::Topology>& topologies;

  const bool fair_sharing;
  // By name: whether the status that was computed last says that the ClusterQueue is active.
  std::map<std::string, bool> active_queues;
  QueueMetrics queue_metrics;
  AdmissionMetrics metrics;
  WorkloadTally tally;
  MetricsFeed metrics_feed;
  WorkloadWriter writer;
  PendingNotes notes;
  SchedulerLoop loop;
  TopologyFeed topology_feed;
  PodDefaultsFeed pod_defaults_feed;
  NodeFailures node_failures;
  PriorityClasses priority_classes;

  WorkloadReconciler workload_reconciler;
  ClusterQueueReconciler cluster_queue_reconciler;
  LocalQueueReconciler local_queue_reconciler;
  CohortReconciler cohort_reconciler;
  InUseReconciler<api::ResourceFlavor> flavor_reconciler;
  InUseReconciler<api::AdmissionCheck> check_reconciler;
  InUseReconciler<api::Topology> topology_reconciler;

  kube::Controller& workload_controller;
  kube::Controller& cluster_queue_controller;
  kube::Controller& local_queue_controller;
  kube::Controller& cohort_controller;
  kube::Controller& flavor_controller;
  kube::Controller& check_controller;
  kube::Controller& topology_controller;

  bool shares_posted = false;
  const std::shared_ptr<Impl*> self = std::make_shared<Impl*>(this);
};

AdmissionControllers::Impl::Impl(kube::Manager& the_manager, const Clock& the_clock,
                                 kube::EventRecorder& the_events, kube::Metrics& the_metrics,
                                 const AdmissionControllersOptions& options)
    : series(the_metrics, options.metrics.custom_labels),
      driver(ListingNew(options.driver, series)),
      scheduler(driver.scheduler()),
      manager(the_manager),
      clock(the_clock),
      events(the_events),
      workloads(manager.InformerFor<api::Workload>()),
      local_queues(manager.InformerFor<api::LocalQueue>()),
      cluster_queues(manager.InformerFor<api::ClusterQueue>()),
      cohorts(manager.InformerFor<api::Cohort>()),
      flavors(manager.InformerFor<api::ResourceFlavor>()),
      checks(manager.InformerFor<api::AdmissionCheck>()),
      topologies(manager.InformerFor<api::Topology>()),
      fair_sharing(options.driver.scheduler.fair_sharing.has_value()),
      queue_metrics(series, options.metrics),
      metrics(series, queue_metrics,
              [this](const std::string& name) { return FiguresOf(scheduler, name).cohorts; }),
      tally(options.metrics.cluster_queue_resources ? WorkloadTally::Requests::kKept
                                                    : WorkloadTally::Requests::kNotKept,
            ValuesFor(series)),
      metrics_feed({manager, scheduler, tally, series, queue_metrics, metrics,
                    options.metrics.cluster_queue_resources}),
      writer(manager.client(), workloads),
      notes(workloads, writer, events, clock, manager.executor()),
      loop({manager, driver, writer, notes, events, clock, metrics, options.driver.wake_up_batch,
            [this] { metrics_feed.OnTurn(); }}),
      topology_feed(manager, scheduler,
                    [this](TopologyFeed::Change change) { OnTopologyFeed(change); }),
      pod_defaults_feed(
          manager, scheduler, clock,
          {.workload = [this](const api::ObjectKey& key) { workload_controller.Add(key); },
           .scheduler = [this] { loop.OnChange(); }}),
      node_failures(manager, writer, events, clock, NodeOptions(options.driver.scheduler.gates),
                    [this](const api::Workload& before, const WorkloadPlan& plan) {
                      metrics.OnPlan(before, plan, clock.Now());
                    }),
      priority_classes(manager, writer),
      workload_reconciler({driver, workloads, local_queues, cluster_queues, writer, events, clock},
                          [this](const api::Workload& before, const WorkloadPlan& plan) {
                            metrics.OnPlan(before, plan, clock.Now());
                          }),
      cluster_queue_reconciler(MakeQueueParts()),
      local_queue_reconciler(MakeQueueParts()),
      cohort_reconciler(
          manager.client(), cohorts, clock,
          [this](const std::string& name) { return metrics_feed.CohortShare(name); },
          [this] { return notes.TakeCommentary(); }),
      flavor_reconciler(
          manager.client(), flavors,
          [this](const std::string& name) { return FlavorInUse(cluster_queues, name); }),
      check_reconciler(
          manager.client(), checks,
          [this](const std::string& name) { return CheckInUse(cluster_queues, name); }),
      topology_reconciler(manager.client(), topologies,
                          [this](const std::string& name) { return TopologyInUse(flavors, name); }),
      workload_controller(Add(workload_reconciler, options.run.core, options.concurrency.workload)),
      cluster_queue_controller(
          Add(cluster_queue_reconciler, options.run.core, options.concurrency.cluster_queue)),
      local_queue_controller(
          Add(local_queue_reconciler, options.run.core, options.concurrency.local_queue)),
      cohort_controller(Add(cohort_reconciler, options.run.core, options.concurrency.cohort)),
      flavor_controller(Add(flavor_reconciler, options.run.core, options.concurrency.flavor)),
      check_controller(Add(check_reconciler, options.run.core, options.concurrency.check)),
      topology_controller(
          Add(topology_reconciler, options.run.topology, options.concurrency.topology)) {
  writer.OnRefused([this](const api::ObjectKey& key, const Error& error) {
    metrics.OnWriteRefused();
    if (const auto workload = workloads.Get(key)) {
      kube::RecordRefusedWrite(events, kube::ReferenceTo(*workload), error);
    }
  });
  AddIndexes();
  const FeatureGates& gates = options.driver.scheduler.gates;
  metrics_feed.Connect();
  topology_feed.Connect(gates.topology_aware_scheduling ? TopologyFeed::Mode::kWithNodes
                                                        : TopologyFeed::Mode::kAsIs);
  pod_defaults_feed.Connect();
  loop.Connect();  // first: later controllers ask the scheduler
  if (gates.topology_aware_scheduling && gates.tas_failed_node_replacement) {
    node_failures.Watch(Add(node_failures, options.run.topology, 1));
  }
  priority_classes.Watch(Add(priority_classes, options.run.core, 1));
  WatchWorkloads();
  WatchLocalQueues();
  WatchClusterQueues();
  WatchUsed<api::ResourceFlavor>(flavor_controller);
  WatchUsed<api::AdmissionCheck>(check_controller);
  WatchUsed<api::Topology>(topology_controller);
  WatchCohorts();
  if (options.run.scheduler) manager.OnLeaderStart([this] { loop.Start(); });
  manager.OnLeaderStop([this] { loop.Stop(); });
}

QueueReconcilerParts AdmissionControllers::Impl::MakeQueueParts() {
  return {
      manager.client(),
      cluster_queues,
      local_queues,
      tally,
      clock,
      [this](const std::string& name) { return StandingOf(name); },
      [this](const api::ObjectKey& key) { return ConsumedUsageOf(scheduler, key, clock.Now()); },
      scheduler.config().admission_fair_sharing
          ? scheduler.config().admission_fair_sharing->sampling_interval
          : Duration{},
      [this](const api::ClusterQueue& queue, const api::QueueStatus& status) {
        metrics_feed.ShowClusterQueue(queue, status);
        NoteStanding(queue, api::IsTrue(status.conditions, api::kActive));
      },
      [this](const api::LocalQueue& queue, const api::QueueStatus& status) {
        metrics_feed.ShowLocalQueue(queue, status);
      },
      [this] { return notes.TakeCommentary(); }};
}

// The status may come back to what is written before it is written.
void AdmissionControllers::Impl::NoteStanding(const api::ClusterQueue& queue, bool active) {
  const auto [known, added] = active_queues.try_emplace(queue.meta.name, active);
  if (!added && std::exchange(known->second, active) != active) AddWorkloadsOf(queue);
}

QueueStanding AdmissionControllers::Impl::StandingOf(const std::string& name) {
  const auto id = scheduler.state().cluster_queues().Find(name);
  if (!id) return {false, "Unknown", "Can't admit new workloads: unknown."};
  const QueueState& queue = scheduler.state().queue(*id);
  const std::string cycle = CycleAbove(scheduler.state(), queue.node);
  if (queue.active() && !cycle.empty()) {
    return {false, "CohortCycle", "Can't admit new workloads: its cohorts form a cycle: " + cycle};
  }
  std::optional<std::int64_t> share;
  if (fair_sharing && queue.active()) {
    share = WeightedShare(scheduler.shares().Of(queue.node));
  }
  return {queue.active(), queue.ActiveReason(), queue.ActiveMessage(), share};
}

void AdmissionControllers::Impl::AddIndexes() {
  workloads.AddIndex(kByLocalQueue, [](const api::Workload& workload) {
    return std::vector{
        api::ObjectKey{workload.meta.namespace_name, workload.spec.queue_name}.ToString()};
  });
  workloads.AddIndex(kByReservation, [](const api::Workload& workload) {
    if (!workload.status.admission) return std::vector<std::string>{};
    return std::vector{workload.status.admission->cluster_queue};
  });
  local_queues.AddIndex(kByClusterQueue, [](const api::LocalQueue& queue) {
    return std::vector{queue.cluster_queue};
  });
}

void AdmissionControllers::Impl::WatchWorkloads() {
  workload_controller.AddSweep(kube::SweepOf(workloads));
  const auto changed = [this](const api::Workload* before, const api::Workload* after) {
    const WorkloadTally::Touched touched = tally.Change(before, after);
    for (const std::string& name : touched.cluster_queues) {
      cluster_queue_controller.AddAfter({"", name}, kCounterBatch);
      if (fair_sharing) AddCohortsOf(name);
    }
    for (const api::ObjectKey& key : touched.local_queues) {
      local_queue_controller.AddAfter(key, kCounterBatch);
      if (const auto queue = local_queues.Get(key)) {
        cluster_queue_controller.AddAfter({"", queue->cluster_queue}, kCounterBatch);
      }
    }
    metrics.OnChange(before, after, clock.Now());
    if (after == nullptr) return;
    workload_controller.Add(after->meta.key());
  };
  workloads.AddHandler(
      {.on_add = [changed](const auto& object) { changed(nullptr, object.get()); },
       .on_update = [changed](const auto& old,
                              const auto& object) { changed(old.get(), object.get()); },
       .on_delete = [changed](const auto& object) { changed(object.get(), nullptr); }});
}

void AdmissionControllers::Impl::WatchLocalQueues() {
  const auto touch = [this](const api::LocalQueue& queue) {
    metrics.SetRoute(queue.meta.key(), queue.cluster_queue);
    local_queue_controller.Add(queue.meta.key());
    if (!queue.cluster_queue.empty()) cluster_queue_controller.Add({"", queue.cluster_queue});
  };
  const auto touch_workloads = [this](const api::LocalQueue& queue) {
    for (const auto& workload : workloads.ByIndex(kByLocalQueue, queue.meta.key().ToString())) {
      workload_controller.Add(workload->meta.key());
    }
  };
  local_queues.AddHandler({.on_add =
                               [=](const auto& queue) {
                                 touch(*queue);
                                 touch_workloads(*queue);
                               },
                           .on_update =
                               [=](const auto& old, const auto& queue) {
                                 touch(*old);
                                 touch(*queue);
                                 if (old->meta.generation != queue->meta.generation) {
                                   touch_workloads(*queue);
                                 }
                               },
                           .on_delete =
                               [=, this](const auto& queue) {
                                 touch(*queue);
                                 touch_workloads(*queue);
                                 metrics_feed.ForgetLocalQueue(queue->meta.key());
                               }});
}

void AdmissionControllers::Impl::AddWorkloadsOf(const api::ClusterQueue& queue) {
  for (const auto& local : local_queues.ByIndex(kByClusterQueue, queue.meta.name)) {
    local_queue_controller.Add(local->meta.key());
    for (const auto& workload : workloads.ByIndex(kByLocalQueue, local->meta.key().ToString())) {
      workload_controller.Add(workload->meta.key());
    }
  }
  for (const auto& workload : workloads.ByIndex(kByReservation, queue.meta.name)) {
    workload_controller.Add(workload->meta.key());
  }
}

void AdmissionControllers::Impl::WatchClusterQueues() {
  cluster_queues.AddHandler(
      {.on_add =
           [this](const auto& queue) {
             metrics.ShowClusterQueue(queue->meta.name);
             cluster_queue_controller.Add(queue->meta.key());
             AddShares();
             AddWorkloadsOf(*queue);
           },
       .on_update =
           [this](const auto& old, const auto& queue) {
             cluster_queue_controller.Add(queue->meta.key());
             if (old->meta.generation != queue->meta.generation) AddShares();
             const bool was_active = api::IsTrue(old->status.conditions, api::kActive);
             const bool is_active = api::IsTrue(queue->status.conditions, api::kActive);
             if (old->meta.generation == queue->meta.generation && was_active == is_active) return;
             AddWorkloadsOf(*queue);
             AddDeletedUsed();
           },
       .on_delete =
           [this](const auto& queue) {
             cluster_queue_controller.Add(queue->meta.key());
             AddShares();
             active_queues.erase(queue->meta.name);
             AddWorkloadsOf(*queue);
             AddDeletedUsed();
             metrics_feed.ForgetClusterQueue(queue->meta.name);
           }});
}

// Kinds that queues name: a change of an object may make queues active or inactive.
template <typename T>
void AdmissionControllers::Impl::WatchUsed(kube::Controller& controller) {
  const auto touch = [this, &controller](const auto& object) {
    controller.Add(object->meta.key());
    AddAllClusterQueues();
  };
  manager.InformerFor<T>().AddHandler(
      {.on_add = touch,
       .on_update = [touch](const auto&, const auto& object) { touch(object); },
       .on_delete =
           [this](const auto&) {
             AddAllClusterQueues();
             AddDeletedUsed();
           }});
}

void AdmissionControllers::Impl::WatchCohorts() {
  const auto touch = [this](const auto& cohort) {
    cohort_controller.Add(cohort->meta.key());
    AddAllClusterQueues();
    AddShares();
    AddDeletedUsed();
    metrics_feed.OnCohorts();
  };
  cohorts.AddHandler({.on_add = touch,
                      .on_update = [touch](const auto&, const auto& cohort) { touch(cohort); },
                      .on_delete = touch});
}

void AdmissionControllers::Impl::OnTopologyFeed(TopologyFeed::Change change) {
  loop.OnChange();
  if (change == TopologyFeed::Change::kTopologies) AddAllClusterQueues();
}

void AdmissionControllers::Impl::AddAllClusterQueues() {
  for (const auto& queue : cluster_queues.objects())
    cluster_queue_controller.Add(queue->meta.key());
}

void AdmissionControllers::Impl::AddCohortsOf(const std::string& cluster_queue) {
  const auto queue = cluster_queues.Get({"", cluster_queue});
  std::string name = queue == nullptr ? "" : queue->spec.cohort_name;
  for (int depth = 0; !name.empty() && depth < kMaxCohortDepth; ++depth) {
    cohort_controller.Add({"", name});
    const auto cohort = cohorts.Get({"", name});
    name = cohort == nullptr ? "" : cohort->spec.parent_name;
  }
}

// Quotas or the tree of cohorts have changed: so may the shares of other queues and cohorts. One
// pass follows many changes.
void AdmissionControllers::Impl::AddShares() {
  constexpr Duration kBatch = std::chrono::seconds(1);
  if (!fair_sharing || std::exchange(shares_posted, true)) return;
  manager.executor().PostAfter(kBatch, [weak = std::weak_ptr(self)] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    Impl& impl = **alive;
    impl.shares_posted = false;
    impl.AddAllClusterQueues();
    for (const auto& cohort : impl.cohorts.objects()) {
      impl.cohort_controller.Add(cohort->meta.key());
    }
  });
}

void AdmissionControllers::Impl::AddDeletedUsed() {
  const auto add = [](auto& informer, kube::Controller& controller) {
    for (const auto& object : informer.objects()) {
      if (object->meta.deletion_timestamp) controller.Add(object->meta.key());
    }
  };
  add(flavors, flavor_controller);
  add(checks, check_controller);
  add(topologies, topology_controller);
}

AdmissionControllers::AdmissionControllers(kube::Manager& manager, const Clock& clock,
                                           kube::EventRecorder& events, kube::Metrics& metrics,
                                           const AdmissionControllersOptions& options)
    : impl_(std::make_unique<Impl>(manager, clock, events, metrics, options)) {}

AdmissionControllers::~AdmissionControllers() = default;

const Scheduler& AdmissionControllers::scheduler() const { return impl_->scheduler; }
void AdmissionControllers::ManageOwner(const OwnerKind& kind, bool managed) {
  impl_->scheduler.ManageOwner(kind, managed);
  impl_->loop.OnChange();
}
bool AdmissionControllers::idle() const {
  return impl_->loop.idle() && impl_->notes.idle() && impl_->writer.backlog() == 0 &&
         impl_->workload_controller.idle() && impl_->cluster_queue_controller.idle() &&
         impl_->local_queue_controller.idle();
}
std::int64_t AdmissionControllers::cycle_count() const { return impl_->loop.cycle_count(); }

Duration AdmissionControllers::TakeCommentary() { return impl_->notes.TakeCommentary(); }

void AdmissionControllers::Annotate(const api::Workload& workload, const std::string& annotation,
                                    const std::string& value, std::function<void(Status)> done) {
  impl_->writer.Annotate(workload, {{annotation, value}}, std::move(done));
}

}  // namespace berth::admission
