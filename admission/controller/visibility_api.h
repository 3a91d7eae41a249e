// admission/controller/visibility_api.h — Kueue's visibility API: the workloads that wait in a
// queue, from the state of this replica's scheduler.
//
//     GET …/clusterqueues/NAME/pendingworkloads?offset=0&limit=1000
//     GET …/namespaces/NS/localqueues/NAME/pendingworkloads
//
// A read takes a snapshot of its ClusterQueue on the strand, in O(n), where the queue has changed
// since its last snapshot; the first answer sorts the snapshot, off the strand. At most
// kMostSnapshots are kept.
//
// Threads: the returned object may be used on any thread; the scheduler is read on `strand`, and
// must outlive the strand's tasks.
// Errors: 400 (offset or limit), 404 (no such queue), 503 (the caches have not synced).
// Source: Kueue apis/visibility, pkg/visibility.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "api/visibility.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/runtime/extension_api.h"

namespace berth::admission {

// Reads of the scheduler. Read is called on the scheduler's thread; the answers that it returns may
// be used on any thread.
class PendingReads {
 public:
  static constexpr std::size_t kMostSnapshots = 8;

  explicit PendingReads(const Scheduler& scheduler);
  ~PendingReads();

  kube::ExtensionApi::Answer Read(const kube::ExtensionRequest& request, api::PendingPage page);
  std::int64_t snapshots_taken() const;

 private:
  class Snapshots;

  const Scheduler& scheduler_;
  std::unique_ptr<Snapshots> snapshots_;
};

// `synced`: whether the scheduler knows the cluster; called on the strand.
kube::ExtensionApi MakeVisibilityApi(Executor& strand, const Scheduler& scheduler,
                                     std::function<bool()> synced);

// The page that a query asks for. kInvalid names the parameter.
Result<api::PendingPage> PendingPageOf(const std::map<std::string, std::string>& query);

// A PendingWorkloadsSummary as JSON.
std::string SummaryText(const std::vector<api::PendingWorkload>& entries,
                        const std::string& version);

}  // namespace berth::admission
