#include "admission/controller/workloads/node_failures.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/pod_phase.h"
#include "api/reasons.h"
#include "base/log/log.h"
#include "base/rfc3339.h"

namespace berth::admission {
namespace {

using kube::Json;

constexpr Duration kBatch = std::chrono::milliseconds(100);
constexpr char kByHostname[] = "nodeFailures/hostname";  // workloads and nodes
constexpr char kBySelector[] = "nodeFailures/selector";  // pods: the hostname in their selector
constexpr char kFieldManager[] = "kueue";

constexpr char kTerminated[] = "Pod terminated by Kueue NodeController due to node taint";

std::optional<api::ObjectKey> WorkloadKeyOf(const api::Pod& pod) {
  const std::string* name = api::FindValue(pod.meta.annotations, api::kWorkloadAnnotation);
  if (name == nullptr) return std::nullopt;
  return api::ObjectKey{pod.meta.namespace_name, *name};
}

// The hostname that a pod of a workload asks for; empty: none.
std::string HostnameOf(const api::Pod& pod) {
  const std::string* host = api::FindValue(pod.spec.node_selector, api::kHostnameLabel);
  return host == nullptr || !WorkloadKeyOf(pod) ? "" : *host;
}

std::string HostnameOf(const api::Node& node) {
  const std::string* host = api::FindValue(node.meta.labels, api::kHostnameLabel);
  return host == nullptr ? "" : *host;
}

// Whether the pod was ungated for its hostname, and is not bound.
bool IsWaiting(const api::Pod& pod) {
  if (!pod.spec.node_name.empty() || api::HasEnded(pod)) return false;
  const auto& gates = pod.spec.scheduling_gates;
  return std::find(gates.begin(), gates.end(), api::kTopologyGate) == gates.end();
}

// Whether the pod waits for a place that a topology gave it.
bool IsPlaced(const api::Pod& pod) {
  const auto has = [&pod](const char* key) { return pod.meta.annotations.count(key) != 0; };
  return pod.phase == "Pending" && IsWaiting(pod) && pod.spec.scheduling_gates.empty() &&
         !pod.meta.deletion_timestamp && !has(api::kSliceNameAnnotation) &&
         (has(api::kRequiredTopologyAnnotation) || has(api::kPreferredTopologyAnnotation) ||
          has(api::kUnconstrainedTopologyAnnotation));
}

bool HasNoPlace(const api::Workload& workload) {
  return !workload.status.admission && !workload.meta.deletion_timestamp &&
         !api::IsTrue(workload.status.conditions, api::kFinished);
}

bool IsWell(const api::Node& node) {
  return api::IsTrue(node.conditions, "Ready") && node.taints.empty();
}

}  // namespace

NodeFailures::NodeFailures(kube::Manager& manager, WorkloadWriter& writer,
                           kube::EventRecorder& events, const Clock& clock,
                           const NodeFailureOptions& options, Observer observer)
    : manager_(manager),
      writer_(writer),
      events_(events),
      clock_(clock),
      options_(options),
      observer_(std::move(observer)),
      workloads_(manager.InformerFor<api::Workload>()),
      flavors_(manager.InformerFor<api::ResourceFlavor>()),
      topologies_(manager.InformerFor<api::Topology>()) {}

void NodeFailures::Watch(kube::Controller& controller) {
  controller_ = &controller;
  workloads_.AddIndex(kByHostname, HostnamesOf);
  topologies_.AddHandler({.on_add = [this](const auto&) { Open(); }});
  workloads_.AddHandler({.on_add = [this](const auto& workload) { OnWorkload(*workload); },
                         .on_update =
                             [this](const auto& before, const auto& workload) {
                               if (before->status.admission != workload->status.admission ||
                                   before->status.unhealthy_nodes !=
                                       workload->status.unhealthy_nodes ||
                                   api::IsTrue(before->status.conditions, api::kAdmitted) !=
                                       api::IsTrue(workload->status.conditions, api::kAdmitted)) {
                                 OnWorkload(*workload);
                               }
                             }});
}

void NodeFailures::Open() {
  if (nodes_ != nullptr) return;
  nodes_ = &manager_.InformerFor<api::Node>();
  pods_ = &manager_.InformerFor<api::Pod>();
  WatchNodes();
  WatchPods();
}

void NodeFailures::WatchNodes() {
  nodes_->AddIndex(kByHostname, [](const api::Node& node) {
    const std::string host = HostnameOf(node);
    return host.empty() ? std::vector<std::string>{} : std::vector{host};
  });
  const auto add = [this](const auto& node) {
    if (const std::string host = HostnameOf(*node); !host.empty()) controller_->Add({"", host});
  };
  nodes_->AddHandler({.on_add =
                          [this, add](const auto& node) {
                            if (!IsWell(*node) || HasFailed(HostnameOf(*node))) add(node);
                          },
                      .on_update =
                          [add](const auto& before, const auto& node) {
                            const bool has_moved = HostnameOf(*before) != HostnameOf(*node);
                            if (has_moved) add(before);
                            if (has_moved ||
                                api::IsTrue(before->conditions, "Ready") !=
                                    api::IsTrue(node->conditions, "Ready") ||
                                before->taints != node->taints) {
                              add(node);
                            }
                          },
                      .on_delete = add});
  // Finds nodes that went while the controller was down: assignments name them, the API lacks them.
  nodes_->OnSynced([this] {
    for (const auto& workload : workloads_.objects()) OnWorkload(*workload);
  });
}

void NodeFailures::WatchPods() {
  pods_->AddIndex(kBySelector, [](const api::Pod& pod) {
    const std::string host = HostnameOf(pod);
    return host.empty() ? std::vector<std::string>{} : std::vector{host};
  });
  const auto look = [this](const api::Pod& pod, bool is_gone) {
    const std::string host = HostnameOf(pod);
    if (host.empty()) return;
    const bool ends = is_gone || pod.meta.deletion_timestamp || api::HasEnded(pod);
    // At once: the pod's replacement must not be sent to a node that has failed.
    if (ends && !pod.spec.node_name.empty()) return controller_->Add({"", host});
    if (!ends && IsWaiting(pod)) controller_->AddAfter({"", host}, kBatch);
  };
  pods_->AddHandler({.on_add = [look](const auto& pod) { look(*pod, false); },
                     .on_update = [look](const auto&, const auto& pod) { look(*pod, false); },
                     .on_delete = [look](const auto& pod) { look(*pod, true); }});
}

// The workload is on an unhealthy node, or its unhealthyNodes names a healthy one.
void NodeFailures::OnWorkload(const api::Workload& workload) {
  if (nodes_ == nullptr || !nodes_->has_synced()) return;
  for (const std::string& host : HostnamesOf(workload)) {
    const auto nodes = nodes_->ByIndex(kByHostname, host);
    const bool is_well =
        std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return IsWell(*node); });
    if (is_well == IsCalledUnhealthy(workload, host)) controller_->Add({"", host});
  }
}

// A node may come back under its hostname.
bool NodeFailures::HasFailed(const std::string& hostname) const {
  const auto workloads = workloads_.ByIndex(kByHostname, hostname);
  return std::any_of(workloads.begin(), workloads.end(), [&hostname](const auto& workload) {
    return IsCalledUnhealthy(*workload, hostname);
  });
}

// The workloads that have assignments on the nodes, or pods that wait for them.
std::vector<std::shared_ptr<const api::Workload>> NodeFailures::WorkloadsOf(
    const std::string& hostname) const {
  std::set<api::ObjectKey> keys;
  for (const auto& workload : workloads_.ByIndex(kByHostname, hostname)) {
    keys.insert(workload->meta.key());
  }
  for (const auto& pod : pods_->ByIndex(kBySelector, hostname)) {
    if (IsWaiting(*pod)) keys.insert(*WorkloadKeyOf(*pod));
  }
  std::vector<std::shared_ptr<const api::Workload>> found;
  for (const api::ObjectKey& key : keys) {
    const auto workload = workloads_.Get(key);
    if (workload != nullptr && !HostnamesOf(*workload).empty()) found.push_back(workload);
  }
  return found;
}

WorkloadOnNode NodeFailures::Observe(const api::Workload& workload,
                                     const std::string& hostname) const {
  WorkloadOnNode on_node;
  on_node.workload = &workload;
  for (const auto& pod : pods_->ByIndex(kBySelector, hostname)) {
    if (WorkloadKeyOf(*pod) != workload.meta.key()) continue;
    if (!pod->spec.node_name.empty()) on_node.bound.push_back(*pod);
    if (IsWaiting(*pod)) on_node.waiting.push_back(*pod);
  }
  return on_node;
}

void NodeFailures::Reconcile(const api::ObjectKey& key, Done done) {
  if (nodes_ == nullptr || !nodes_->has_synced() || !pods_->has_synced()) {
    return done(kube::NextLook{nodes_ == nullptr ? std::nullopt : std::optional(kBatch)});
  }
  const auto found = nodes_->ByIndex(kByHostname, key.name);
  std::vector<const api::Node*> nodes;
  for (const auto& node : found) nodes.push_back(node.get());
  const FlavorLookup flavors = [this](const std::string& name) {
    return flavors_.Get({"", name}).get();
  };
  std::vector<kube::Step> steps;
  kube::NextLook next;
  for (const auto& workload : WorkloadsOf(key.name)) {
    const WorkloadOnNode on_node = Observe(*workload, key.name);
    const NodeVerdict verdict =
        JudgeHostname(key.name, nodes, on_node, flavors, options_, clock_.Now());
    if (verdict.look_again && (!next.after || *verdict.look_again < *next.after)) {
      next.after = verdict.look_again;
    }
    WorkloadPlan plan = PlanNodeHealth(*workload, key.name, verdict.health, clock_.Now());
    const bool is_evicted = !plan.events.empty();
    if (plan.status) steps.push_back(StatusStep(workload, std::move(plan)));
    if (!verdict.fail_waiting || is_evicted) continue;
    for (const api::Pod& pod : on_node.waiting) {
      if (pod.phase == "Pending") steps.push_back(FailPodStep(pod));
    }
  }
  for (const auto& pod : pods_->ByIndex(kBySelector, key.name)) {
    if (!IsPlaced(*pod)) continue;
    const auto workload = workloads_.Get(*WorkloadKeyOf(*pod));
    if (workload != nullptr && HasNoPlace(*workload)) steps.push_back(StrayStep(*pod));
  }
  kube::RunSteps(std::move(steps), [done = std::move(done), next](const Status& status) {
    if (!status) return done(status.error());
    done(next);
  });
}

kube::Step NodeFailures::StatusStep(const std::shared_ptr<const api::Workload>& workload,
                                    WorkloadPlan plan) {
  return [this, workload, plan = std::move(plan)](std::function<void(Status)> next) {
    writer_.ApplyStatus(*workload, *plan.status,
                        [this, workload, plan, next = std::move(next)](const Status& written) {
                          if (!written) {
                            const bool gone = written.error().code == ErrorCode::kNotFound;
                            return next(gone ? OkStatus() : written);
                          }
                          LogInfo(
                              "nodes of a workload changed their health",
                              {{"workload", workload->meta.key().ToString()},
                               {"unhealthy", std::to_string(plan.status->unhealthy_nodes.size())}});
                          for (const PlannedEvent& event : plan.events) {
                            events_.Record(kube::ReferenceTo(*workload), kube::EventType::kNormal,
                                           event.reason, "Evicted", event.message);
                          }
                          observer_(*workload, plan);
                          next(OkStatus());
                        });
  };
}

// The workload of the pod has lost its admission. The API server is asked: the pod may be known
// before the admission is.
kube::Step NodeFailures::StrayStep(const api::Pod& pod) {
  return [this, fail = FailPodStep(pod),
          key = *WorkloadKeyOf(pod)](const std::function<void(Status)>& next) {
    manager_.client().Get(api::KindOf<api::Workload>(), key,
                          [this, fail, next](const Result<kube::JsonPtr>& answer) {
                            if (!answer) {
                              const bool gone = answer.error().code == ErrorCode::kNotFound;
                              return next(gone ? OkStatus() : Status(answer.error()));
                            }
                            workloads_.Ingest(**answer);
                            const auto workload = api::Decode<api::Workload>(**answer);
                            if (!workload || !HasNoPlace(*workload)) return next(OkStatus());
                            fail(next);
                          });
  };
}

// The pod can never be bound to its node; its job replaces it.
kube::Step NodeFailures::FailPodStep(const api::Pod& pod) {
  Json condition = {{"type", "TerminatedByKueue"},
                    {"status", "True"},
                    {"reason", "UnschedulableOnAssignedNode"},
                    {"message", kTerminated},
                    {"lastTransitionTime", FormatTime(CutToSeconds(clock_.Now()))}};
  Json applied = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", pod.meta.name}, {"namespace", pod.meta.namespace_name}, {"uid", pod.meta.uid}}},
      {"status", {{"phase", "Failed"}, {"conditions", Json::array({condition})}}}};
  return [this, applied = std::move(applied), key = pod.meta.key(),
          reference = kube::ReferenceTo(pod)](std::function<void(Status)> next) {
    manager_.client().Patch(
        api::KindOf<api::Pod>(), key, kube::PatchType::kApply, applied,
        {.field_manager = kFieldManager, .force = kube::Force::kYes, .subresource = "status"},
        [this, reference, next = std::move(next)](const Result<kube::JsonPtr>& answer) {
          if (!answer && answer.error().code != ErrorCode::kNotFound &&
              answer.error().code != ErrorCode::kConflict) {
            return next(answer.error());
          }
          if (answer && *answer != nullptr) pods_->Ingest(**answer);
          events_.Record(reference, kube::EventType::kNormal, "PodTerminatedByKueue",
                         "PodTerminated", kTerminated);
          next(OkStatus());
        });
  };
}

}  // namespace berth::admission
