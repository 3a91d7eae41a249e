#include "admission/controller/metrics/queue_metrics.h"

#include <algorithm>
#include <array>
#include <limits>

#include "api/reasons.h"

namespace berth::admission {
namespace {

using kube::MetricLabels;

constexpr std::array<const char*, 3> kStatuses{"active", "pending", "terminating"};

// cpu in cores; other resources in whole items.
double Value(const std::string& resource, api::Amount amount) {
  return static_cast<double>(amount) * (resource == "cpu" ? 1e-3 : 1.0);
}

// Calls `gone` for the elements of `before` that `now` lacks.
template <typename Set, typename Gone>
void Replace(Set& before, Set now, const Gone& gone) {
  for (const auto& item : before) {
    if (now.count(item) == 0) gone(item);
  }
  before = std::move(now);
}

}  // namespace

QueueMetrics::QueueMetrics(LabelledMetrics& metrics, const MetricsOptions& options)
    : metrics_(metrics), options_(options) {}

void QueueMetrics::SetClusterQueue(const api::ClusterQueue& queue, const api::QueueStatus& status,
                                   const QueueFigures& figures) {
  const std::string& name = queue.meta.name;
  const bool active = api::IsTrue(status.conditions, api::kActive);
  const MetricLabels labels{{"cluster_queue", name}};
  metrics_.SetGauge("kueue_reserving_active_workloads", labels, status.reserving_workloads);
  const std::string state =
      queue.meta.deletion_timestamp ? "terminating" : (active ? "active" : "pending");
  for (const char* word : kStatuses) {
    metrics_.SetGauge("kueue_cluster_queue_status", {{"cluster_queue", name}, {"status", word}},
                      state == word ? 1 : 0);
  }
  Known& known = queues_[name];
  SetAdmitted("kueue_admitted_active_workloads", labels, status.admitted_workloads,
              figures.admitted_by, known.admitted_by);
  if (known.cohort != queue.spec.cohort_name) {
    metrics_.Remove({{"cluster_queue", name}, {"cohort", known.cohort}});
    known.cohort = queue.spec.cohort_name;
    known.resources.clear();
  }
  if (figures.share) {
    metrics_.SetGauge("kueue_cluster_queue_weighted_share",
                      {{"cluster_queue", name}, {"cohort", known.cohort}}, *figures.share);
  }
  const MetricLabels info{{"cluster_queue", name},
                          {"parent_cohort", figures.cohorts.empty() ? "" : figures.cohorts.front()},
                          {"root_cohort", figures.cohorts.empty() ? "" : figures.cohorts.back()}};
  if (known.info != info) {
    if (!known.info.empty()) metrics_.Remove(known.info);
    known.info = info;
    metrics_.SetGauge("kueue_cluster_queue_info", info, 1);
  }
  if (options_.cluster_queue_resources) SetResources(queue, status, known);
  Reserved reserved;
  for (const api::FlavorUsage& usage : status.flavors_reservation) {
    for (const api::FlavorUsage::Resource& resource : usage.resources) {
      if (resource.total != 0) reserved[{usage.flavor, resource.resource}] = resource.total;
    }
  }
  Move(known, figures.cohorts, status.admitted_workloads, reserved);
}

void QueueMetrics::SetResources(const api::ClusterQueue& queue, const api::QueueStatus& status,
                                Known& known) {
  const auto labels = [&](const std::string& flavor, const std::string& resource) {
    return MetricLabels{{"cohort", queue.spec.cohort_name},
                        {"cluster_queue", queue.meta.name},
                        {"flavor", flavor},
                        {"resource", resource}};
  };
  std::set<FlavorResource> shown;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        const std::string& resource = quota.resource;
        const MetricLabels of = labels(flavor.flavor, resource);
        shown.insert({flavor.flavor, resource});
        metrics_.SetGauge("kueue_cluster_queue_nominal_quota", of,
                          Value(resource, quota.nominal_quota));
        SetLimit("kueue_cluster_queue_borrowing_limit", of, quota.borrowing_limit);
        SetLimit("kueue_cluster_queue_lending_limit", of, quota.lending_limit);
      }
    }
  }
  const auto set = [&](const char* name, const std::vector<api::FlavorUsage>& usages) {
    for (const api::FlavorUsage& usage : usages) {
      for (const api::FlavorUsage::Resource& resource : usage.resources) {
        metrics_.SetGauge(name, labels(usage.flavor, resource.resource),
                          Value(resource.resource, resource.total));
      }
    }
  };
  set("kueue_cluster_queue_resource_reservation", status.flavors_reservation);
  set("kueue_cluster_queue_resource_usage", status.flavors_usage);
  Replace(known.resources, std::move(shown),
          [&](const FlavorResource& gone) { metrics_.Remove(labels(gone.first, gone.second)); });
}

// Metrics with custom labels of Workloads have a series for each set of values that an admitted
// workload has.
void QueueMetrics::SetAdmitted(const char* name, const MetricLabels& of, std::int32_t admitted,
                               const Tally::CountsByLabels& by_labels, ShownLabels& shown) {
  constexpr auto kWorkload = CustomMetricLabel::Source::kWorkload;
  if (!metrics_.Has(kWorkload)) return metrics_.SetGauge(name, of, admitted);
  const auto with = [&](const LabelledMetrics::Values& values) {
    MetricLabels labels = of;
    labels.merge(metrics_.Named(kWorkload, values));
    return labels;
  };
  ShownLabels now;
  for (const auto& [values, count] : by_labels) {
    now.insert(values);
    metrics_.SetGauge(name, with(values), count);
  }
  Replace(shown, std::move(now),
          [&](const LabelledMetrics::Values& gone) { metrics_.RemoveGauge(name, with(gone)); });
}

// Without a limit the value is +Inf, as in Kueue.
void QueueMetrics::SetLimit(const char* name, const MetricLabels& of,
                            const std::optional<api::Amount>& limit) {
  metrics_.SetGauge(
      name, of, limit ? Value(of.at("resource"), *limit) : std::numeric_limits<double>::infinity());
}

// Updates the sums of the cohorts above the queue; also when the queue changes its cohort.
void QueueMetrics::Move(Known& known, const std::vector<std::string>& cohorts,
                        std::int32_t admitted, const Reserved& reserved) {
  const auto add = [&](const std::string& cohort, std::int32_t count) {
    std::int64_t& sum = admitted_below_[cohort];
    sum += count;
    metrics_.SetGauge("kueue_cohort_subtree_admitted_active_workloads", {{"cohort", cohort}},
                      static_cast<double>(sum));
  };
  const bool moved = known.cohorts != cohorts;
  if (moved || known.reserved != reserved) {
    for (const std::string& cohort : known.cohorts) AddReserved(cohort, known.reserved, -1);
    for (const std::string& cohort : cohorts) AddReserved(cohort, reserved, 1);
    known.reserved = reserved;
  }
  if (moved || known.admitted != admitted) {
    for (const std::string& cohort : known.cohorts) add(cohort, -known.admitted);
    for (const std::string& cohort : cohorts) add(cohort, admitted);
    known.admitted = admitted;
  }
  known.cohorts = cohorts;
}

// A sum of 0 has no series.
void QueueMetrics::AddReserved(const std::string& cohort, const Reserved& amounts, int sign) {
  constexpr char kGauge[] = "kueue_cohort_subtree_resource_reservations";
  Reserved& sums = reserved_below_[cohort];
  for (const auto& [of, amount] : amounts) {
    const MetricLabels labels{{"cohort", cohort}, {"flavor", of.first}, {"resource", of.second}};
    api::Amount& sum = sums[of];
    sum = api::AddAmounts(sum, sign * amount);
    if (sum > 0) {
      metrics_.SetGauge(kGauge, labels, Value(of.second, sum));
    } else {
      metrics_.RemoveGauge(kGauge, labels);
      sums.erase(of);
    }
  }
  if (sums.empty()) reserved_below_.erase(cohort);
}

const std::vector<std::string>& QueueMetrics::CohortsOf(const std::string& cluster_queue) const {
  const auto found = queues_.find(cluster_queue);
  return found == queues_.end() ? none_ : found->second.cohorts;
}

void QueueMetrics::RemoveClusterQueue(const std::string& name) {
  const auto found = queues_.find(name);
  if (found != queues_.end()) {
    Move(found->second, {}, 0, {});
    queues_.erase(found);
  }
  metrics_.Remove({{"cluster_queue", name}});
}

void QueueMetrics::SetPending(const api::ClusterQueue& queue,
                              const api::ResourceAmounts& requests) {
  std::set<std::string> shown;
  for (const api::ResourceGroup& group : queue.spec.resource_groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) shown.insert(quota.resource);
    }
  }
  for (const auto& [resource, amount] : requests) shown.insert(resource);
  const auto labels = [&queue](const std::string& resource) {
    return MetricLabels{{"cluster_queue", queue.meta.name}, {"resource", resource}};
  };
  for (const std::string& resource : shown) {
    const auto found = requests.find(resource);
    const api::Amount amount = found == requests.end() ? 0 : found->second;
    metrics_.SetGauge("kueue_cluster_queue_resource_pending", labels(resource),
                      Value(resource, amount));
  }
  Replace(queues_[queue.meta.name].pending, std::move(shown), [&](const std::string& gone) {
    metrics_.RemoveGauge("kueue_cluster_queue_resource_pending", labels(gone));
  });
}

void QueueMetrics::SetShapes(const std::string& cluster_queue, std::int64_t active,
                             std::int64_t inadmissible) {
  if (!queues_.contains(cluster_queue)) return;  // deleted meanwhile
  const auto set = [&](const char* status, std::int64_t count) {
    metrics_.SetGauge("kueue_pending_scheduling_hashes",
                      {{"cluster_queue", cluster_queue}, {"status", status}},
                      static_cast<double>(count));
  };
  set("active", active);
  set("inadmissible", inadmissible);
}

void QueueMetrics::SetCohort(const std::string& name, const CohortStanding& standing) {
  Known& known = cohorts_[name];
  const MetricLabels info{
      {"cohort", name}, {"parent_cohort", standing.parent}, {"root_cohort", standing.root}};
  if (known.info != info) {
    if (!known.info.empty()) metrics_.Remove(known.info);
    known.info = info;
    metrics_.SetGauge("kueue_cohort_info", info, 1);
  }
  if (standing.share) {
    metrics_.SetGauge("kueue_cohort_weighted_share", {{"cohort", name}}, *standing.share);
  }
  const auto labels = [&](const std::string& flavor, const std::string& resource) {
    return MetricLabels{{"cohort", name}, {"flavor", flavor}, {"resource", resource}};
  };
  std::set<FlavorResource> shown;
  for (const CohortStanding::Amounts& amounts : standing.amounts) {
    if (amounts.quota <= 0) continue;
    shown.insert({amounts.flavor, amounts.resource});
    metrics_.SetGauge("kueue_cohort_subtree_quota", labels(amounts.flavor, amounts.resource),
                      Value(amounts.resource, amounts.quota));
  }
  Replace(known.resources, std::move(shown), [&](const FlavorResource& gone) {
    // Removes only the cohort's series: those of a ClusterQueue have these labels too.
    metrics_.RemoveGauge("kueue_cohort_subtree_quota", labels(gone.first, gone.second));
  });
}

std::set<std::string> QueueMetrics::Cohorts() const {
  std::set<std::string> names;
  for (const auto& [name, known] : cohorts_) names.insert(name);
  return names;
}

void QueueMetrics::RemoveCohort(const std::string& name) {
  const auto found = cohorts_.find(name);
  if (found == cohorts_.end()) return;
  metrics_.Remove({{"cohort", name}});
  admitted_below_.erase(name);
  reserved_below_.erase(name);
  cohorts_.erase(found);
}

void QueueMetrics::SetLocalQueue(const api::LocalQueue& queue, const api::QueueStatus& status,
                                 std::optional<double> sharing_usage,
                                 const Tally::CountsByLabels& admitted_by) {
  const bool wanted =
      options_.local_queues &&
      (!options_.local_queue_selector || options_.local_queue_selector->Matches(queue.meta.labels));
  if (!wanted) {
    if (Exposes(queue.meta.key())) RemoveLocalQueue(queue.meta.key());
    return;
  }
  KnownLocal& known = exposed_[queue.meta.key()];
  const MetricLabels labels{{"name", queue.meta.name}, {"namespace", queue.meta.namespace_name}};
  const bool active = api::IsTrue(status.conditions, api::kActive);
  metrics_.SetGauge("kueue_local_queue_reserving_active_workloads", labels,
                    status.reserving_workloads);
  SetAdmitted("kueue_local_queue_admitted_active_workloads", labels, status.admitted_workloads,
              admitted_by, known.admitted_by);
  for (const char* word : {"True", "False", "Unknown"}) {
    MetricLabels of = labels;
    of["active"] = word;
    const api::Condition* condition = api::FindCondition(status.conditions, api::kActive);
    const std::string_view is = condition == nullptr ? "Unknown" : (active ? "True" : "False");
    metrics_.SetGauge("kueue_local_queue_status", of, is == word ? 1 : 0);
  }
  const auto of_resource = [&labels](const FlavorResource& resource) {
    MetricLabels of = labels;
    of["flavor"] = resource.first;
    of["resource"] = resource.second;
    return of;
  };
  std::set<FlavorResource> shown;
  const auto set = [&](const char* name, const std::vector<api::FlavorUsage>& usages) {
    for (const api::FlavorUsage& usage : usages) {
      for (const api::FlavorUsage::Resource& resource : usage.resources) {
        shown.insert({usage.flavor, resource.resource});
        metrics_.SetGauge(name, of_resource({usage.flavor, resource.resource}),
                          Value(resource.resource, resource.total));
      }
    }
  };
  set("kueue_local_queue_resource_reservation", status.flavors_reservation);
  set("kueue_local_queue_resource_usage", status.flavors_usage);
  Replace(known.resources, std::move(shown),
          [&](const FlavorResource& gone) { metrics_.Remove(of_resource(gone)); });
  if (!sharing_usage) return;
  MetricLabels of = labels;
  of["cluster_queue"] = queue.cluster_queue;
  metrics_.SetGauge("kueue_local_queue_admission_fair_sharing_usage", of, *sharing_usage);
}

void QueueMetrics::RemoveLocalQueue(const api::ObjectKey& key) {
  if (exposed_.erase(key) == 0) return;
  metrics_.Remove({{"name", key.name}, {"namespace", key.namespace_name}});
}

}  // namespace berth::admission
