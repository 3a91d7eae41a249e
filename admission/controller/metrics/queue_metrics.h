// admission/controller/metrics/queue_metrics.h — gauges of ClusterQueues, LocalQueues and cohorts,
// under Kueue's names. Each gauge is set when its value changes; a scrape computes nothing.
//
// Threads: one Executor. Source: Kueue pkg/metrics.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "admission/controller/metrics/labelled_metrics.h"
#include "admission/controller/metrics/metrics_options.h"
#include "admission/controller/queues/workload_tally.h"
#include "api/queues.h"

namespace berth::admission {

// What the metrics of a ClusterQueue show beside its status.
struct QueueFigures {
  std::vector<std::string> cohorts;   // from the queue's own cohort up to the root
  std::optional<double> share;        // fair sharing only
  Tally::CountsByLabels admitted_by;  // counted where metrics have custom labels of Workloads
};

// The quotas and usage of a cohort with all nodes below.
struct CohortStanding {
  struct Amounts {
    std::string flavor;
    std::string resource;
    api::Amount quota = 0;
  };
  std::string parent;
  std::string root;
  std::optional<double> share;  // fair sharing only
  std::vector<Amounts> amounts;
};

class QueueMetrics {
 public:
  QueueMetrics(LabelledMetrics& metrics, const MetricsOptions& options);

  void SetClusterQueue(const api::ClusterQueue& queue, const api::QueueStatus& status,
                       const QueueFigures& figures);
  void RemoveClusterQueue(const std::string& name);
  // `sharing_usage` has a value only if admission fair sharing is on; `admitted_by`: see
  // QueueFigures.
  void SetLocalQueue(const api::LocalQueue& queue, const api::QueueStatus& status,
                     std::optional<double> sharing_usage, const Tally::CountsByLabels& admitted_by);
  void RemoveLocalQueue(const api::ObjectKey& key);
  void SetCohort(const std::string& name, const CohortStanding& standing);
  void RemoveCohort(const std::string& name);
  std::set<std::string> Cohorts() const;  // the cohorts that have series
  // The requests of the queue's waiting workloads, for resources with quota and others.
  void SetPending(const api::ClusterQueue& queue, const api::ResourceAmounts& requests);
  // The numbers of shapes of waiting workloads: those that compete for the head, and the others.
  void SetShapes(const std::string& cluster_queue, std::int64_t active, std::int64_t inadmissible);

  // The cohorts last seen above the ClusterQueue, from its own cohort up to the root.
  const std::vector<std::string>& CohortsOf(const std::string& cluster_queue) const;
  // Whether the LocalQueue has metrics.
  bool Exposes(const api::ObjectKey& local_queue) const { return exposed_.count(local_queue) > 0; }

 private:
  using FlavorResource = std::pair<std::string, std::string>;
  using ShownLabels = std::set<LabelledMetrics::Values>;
  using Reserved = std::map<FlavorResource, api::Amount>;  // no entry is 0
  struct Known {
    std::string cohort;
    kube::MetricLabels info;
    std::set<FlavorResource> resources;
    std::set<std::string> pending;  // resources that are shown
    std::vector<std::string> cohorts;
    std::int32_t admitted = 0;
    Reserved reserved;
    ShownLabels admitted_by;
  };
  struct KnownLocal {
    std::set<FlavorResource> resources;
    ShownLabels admitted_by;
  };

  void SetResources(const api::ClusterQueue& queue, const api::QueueStatus& status, Known& known);
  void SetAdmitted(const char* name, const kube::MetricLabels& of, std::int32_t admitted,
                   const Tally::CountsByLabels& by_labels, ShownLabels& shown);
  void SetLimit(const char* name, const kube::MetricLabels& of,
                const std::optional<api::Amount>& limit);
  void Move(Known& known, const std::vector<std::string>& cohorts, std::int32_t admitted,
            const Reserved& reserved);
  void AddReserved(const std::string& cohort, const Reserved& amounts, int sign);

  LabelledMetrics& metrics_;
  const MetricsOptions options_;
  std::map<std::string, Known> queues_;
  std::map<std::string, Known> cohorts_;
  std::map<std::string, std::int64_t> admitted_below_;  // by cohort
  std::map<std::string, Reserved> reserved_below_;      // likewise
  std::map<api::ObjectKey, KnownLocal> exposed_;        // LocalQueues with metrics
  const std::vector<std::string> none_;
};

}  // namespace berth::admission
