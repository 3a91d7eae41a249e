// admission/controller/visibility_api.h — Kueue's visibility API: the workloads that wait in a
// queue, from the state of this replica's scheduler.
//
//     GET …/clusterqueues/NAME/pendingworkloads?offset=0&limit=1000
//     GET …/namespaces/NS/localqueues/NAME/pendingworkloads
//
// Threads: the returned object may be used on any thread; the scheduler is read on `strand`, and
// must outlive the strand's tasks.
// Errors: 400 (offset or limit), 404 (no such queue), 503 (the caches have not synced).
// Source: Kueue apis/visibility, pkg/visibility.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admission/scheduler.h"
#include "api/visibility.h"
#include "base/executor.h"
#include "base/result.h"
#include "kube/runtime/extension_api.h"

namespace berth::admission {

// `synced`: whether the scheduler knows the cluster; called on the strand.
kube::ExtensionApi MakeVisibilityApi(Executor& strand, const Scheduler& scheduler,
                                     std::function<bool()> synced);

// The page that a query asks for. kInvalid names the parameter.
Result<api::PendingPage> PendingPageOf(const std::map<std::string, std::string>& query);

// A PendingWorkloadsSummary as JSON.
std::string SummaryText(const std::vector<api::PendingWorkload>& entries,
                        const std::string& version);

}  // namespace berth::admission
