// admission/controller/queues/workload_tally.h — the counters of queues' statuses, kept up to date
// from the Workload objects.
//
//     old and new Workload ──Change──▶ tallies of its LocalQueue and ClusterQueue
//
// The cost of a change is the size of the two objects. Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/queues.h"
#include "api/workload.h"

namespace berth::admission {

struct Tally {
  // Values that the owner reads from each workload (custom labels of metrics) → workloads.
  using CountsByLabels = std::map<std::vector<std::string>, std::int32_t>;
  std::int32_t pending = 0;    // active, not finished, without quota (LocalQueues only)
  std::int32_t reserving = 0;  // workloads that hold quota
  std::int32_t admitted = 0;
  api::ResourceAmounts pending_requests;  // sum over pending workloads, with kKept
  std::map<std::pair<std::string, api::ResourceName>, api::Amount> reservation;  // flavor, resource
  // Admitted workloads only.
  std::map<std::pair<std::string, api::ResourceName>, api::Amount> usage;
  CountsByLabels admitted_by;  // only with `values_of`; no entry is 0
};

class WorkloadTally {
 public:
  enum class Requests { kNotKept, kKept };
  using ValuesOf = std::function<std::vector<std::string>(const api::Workload&)>;
  // `values_of`: null: admitted workloads are not counted by values.
  explicit WorkloadTally(Requests requests = Requests::kNotKept, ValuesOf values_of = nullptr)
      : requests_(requests), values_of_(std::move(values_of)) {}

  // Counts the change of a Workload from `before` (null: it is new) to `after` (null: it is gone).
  // Returns the queues whose tally may have changed.
  struct Touched {
    std::vector<std::string> cluster_queues;
    std::vector<api::ObjectKey> local_queues;
  };
  Touched Change(const api::Workload* before, const api::Workload* after);

  const Tally& ClusterQueue(const std::string& name) const;
  const Tally& LocalQueue(const api::ObjectKey& key) const;

 private:
  void Count(const api::Workload& workload, std::int32_t sign, Touched& touched);

  Requests requests_;
  ValuesOf values_of_;
  std::map<std::string, Tally> cluster_queues_;
  std::map<api::ObjectKey, Tally> local_queues_;
  Tally empty_;
};

// The usage lists of a status: every flavor and resource that `groups` names, in that order.
// `cohort`: whether usage above the nominal quota is reported as borrowed.
enum class InCohort { kNo, kYes };
std::vector<api::FlavorUsage> UsageList(
    const std::vector<api::ResourceGroup>& groups, InCohort cohort,
    const std::map<std::pair<std::string, api::ResourceName>, api::Amount>& amounts);

}  // namespace berth::admission
