#include "admission/controller/metrics/metrics_feed.h"

#include <algorithm>
#include <utility>

#include "admission/controller/queues/queue_figures.h"
#include "admission/controller/queues/queue_reconcilers.h"

namespace berth::admission {
namespace {

constexpr Duration kShowInterval = std::chrono::seconds(1);

using Source = CustomMetricLabel::Source;

std::string KeyOf(const api::ObjectMeta& meta) {
  return meta.namespace_name.empty() ? meta.name : meta.key().ToString();
}

}  // namespace

MetricsFeed::MetricsFeed(const Parts& parts)
    : parts_(parts),
      local_queues_(parts.manager.InformerFor<api::LocalQueue>()),
      cohorts_(parts.manager.InformerFor<api::Cohort>()),
      pending_(parts.series,
               {.cluster_queue_of = [&scheduler = parts.scheduler](
                                        const api::ObjectKey& key) -> std::optional<std::string> {
                  const auto id = scheduler.queues().local_queues().ClusterQueueOf(key);
                  if (!id) return std::nullopt;
                  return scheduler.queues().cluster_queue_names()[*id];
                },
                .is_active =
                    [&scheduler = parts.scheduler](const std::string& name) {
                      const auto id = scheduler.state().cluster_queues().Find(name);
                      return id && scheduler.state().queue(*id).active();
                    },
                .has_metrics = [&queues = parts.queues](
                                   const api::ObjectKey& key) { return queues.Exposes(key); }}) {}

void MetricsFeed::Connect() {
  const auto watch = [this](auto& informer, Source source) {
    if (!parts_.series.Has(source)) return;
    const auto set = [this, source](const auto& object) {
      parts_.series.SetObject(source, KeyOf(object->meta), object->meta);
    };
    informer.AddHandler({.on_add = set,
                         .on_update = [set](const auto&, const auto& object) { set(object); },
                         .on_delete = {}});
  };
  watch(parts_.manager.InformerFor<api::ClusterQueue>(), Source::kClusterQueue);
  watch(local_queues_, Source::kLocalQueue);
  watch(cohorts_, Source::kCohort);
  // The series of a cohort that queues still name stay.
  cohorts_.AddHandler({.on_delete = [this](const auto& object) {
    parts_.series.ForgetObject(Source::kCohort, object->meta.name);
  }});
}

void MetricsFeed::ShowClusterQueue(const api::ClusterQueue& queue, const api::QueueStatus& status) {
  const std::string& name = queue.meta.name;
  Scheduler& scheduler = parts_.scheduler;
  std::vector<std::string> touched = parts_.queues.CohortsOf(name);
  QueueFigures figures = FiguresOf(scheduler, name);
  if (const auto id = scheduler.state().cluster_queues().Find(name); id && status.weighted_share) {
    figures.share = ExactShare(scheduler.shares().Of(scheduler.state().queue(*id).node));
  }
  figures.admitted_by = parts_.tally.ClusterQueue(name).admitted_by;
  parts_.queues.SetClusterQueue(queue, status, figures);
  ApplyCounts();
  pending_.ShowClusterQueue(name);
  if (parts_.resources) {
    api::ResourceAmounts pending;
    for (const auto& local : local_queues_.ByIndex(kByClusterQueue, name)) {
      const Tally& tally = parts_.tally.LocalQueue(local->meta.key());
      for (const auto& [resource, amount] : tally.pending_requests) {
        pending[resource] = api::AddAmounts(pending[resource], amount);
      }
    }
    parts_.queues.SetPending(queue, pending);
  }
  shapes_due_.insert(name);
  ShowLater();
  touched.insert(touched.end(), figures.cohorts.begin(), figures.cohorts.end());
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const std::string& cohort : touched) ShowCohort(cohort);
}

void MetricsFeed::ShowLocalQueue(const api::LocalQueue& queue, const api::QueueStatus& status) {
  const api::ObjectKey key = queue.meta.key();
  const bool was_shown = parts_.queues.Exposes(key);
  parts_.queues.SetLocalQueue(queue, status, parts_.scheduler.sharing().Of(key),
                              parts_.tally.LocalQueue(key).admitted_by);
  if (!was_shown) parts_.admission.ShowLocalQueue(key);
  ApplyCounts();
  pending_.ShowLocalQueue(key);
}

void MetricsFeed::ForgetClusterQueue(const std::string& name) {
  const std::vector<std::string> above = parts_.queues.CohortsOf(name);
  parts_.queues.RemoveClusterQueue(name);
  parts_.admission.ForgetClusterQueue(name);
  pending_.HideClusterQueue(name);
  parts_.series.ForgetObject(Source::kClusterQueue, name);
  for (const std::string& cohort : above) ShowCohort(cohort);
}

void MetricsFeed::ForgetLocalQueue(const api::ObjectKey& key) {
  parts_.admission.SetRoute(key, "");
  parts_.queues.RemoveLocalQueue(key);
  pending_.HideLocalQueue(key);
  parts_.series.ForgetObject(Source::kLocalQueue, key.ToString());
}

void MetricsFeed::ShowCohort(const std::string& name) {
  std::optional<CohortStanding> standing = StandingOfCohort(parts_.scheduler, name);
  if (!standing) {
    parts_.queues.RemoveCohort(name);
    return parts_.series.ForgetObject(Source::kCohort, name);
  }
  if (CohortShare(name)) {
    standing->share =
        ExactShare(parts_.scheduler.shares().Of(*parts_.scheduler.state().cohorts().Find(name)));
  }
  parts_.queues.SetCohort(name, *standing);
}

void MetricsFeed::OnCohorts() {
  cohorts_due_ = true;
  ShowLater();
}

// Counts the shapes of changed queues, and shows the cohorts after a change of their tree: the cost
// is the number of shapes or cohorts.
void MetricsFeed::ShowLater() {
  if (std::exchange(show_posted_, true)) return;
  parts_.manager.executor().PostAfter(kShowInterval, [weak = std::weak_ptr(self_)] {
    if (const auto alive = weak.lock()) (*alive)->ShowDue();
  });
}

void MetricsFeed::ShowDue() {
  show_posted_ = false;
  ApplyCounts();
  for (const std::string& name : std::exchange(shapes_due_, {})) {
    const auto id = parts_.scheduler.state().cluster_queues().Find(name);
    if (!id) continue;
    const auto counts = parts_.scheduler.queues().waiting(*id).CountShapes();
    parts_.queues.SetShapes(name, counts.active, counts.waiting);
  }
  if (std::exchange(cohorts_due_, false)) ShowCohorts();
}

void MetricsFeed::ShowCohorts() {
  std::set<std::string> names = parts_.queues.Cohorts();
  for (const auto& object : cohorts_.objects()) {
    names.insert({object->meta.name, object->spec.parent_name});
  }
  for (const std::string& name : names) ShowCohort(name);
}

std::optional<std::int64_t> MetricsFeed::CohortShare(const std::string& name) {
  Scheduler& scheduler = parts_.scheduler;
  const std::optional<NodeId> node = scheduler.state().cohorts().Find(name);
  if (!scheduler.config().fair_sharing || !node || scheduler.state().tree().InCycle(*node)) {
    return std::nullopt;
  }
  return WeightedShare(scheduler.shares().Of(*node));
}

}  // namespace berth::admission
