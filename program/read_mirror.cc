#include "program/read_mirror.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "api/labels.h"
#include "api/owner_key.h"
#include "api/reasons.h"
#include "base/strings.h"
#include "program/caller_story.h"
#include "view/screens/items.h"
#include "view/screens/reason.h"
#include "view/screens/usage.h"
#include "view/screens/why.h"

namespace berth::program {
namespace {

using Json = nlohmann::json;

constexpr char kByLocalQueue[] = "localQueue";
constexpr char kByClusterQueue[] = "clusterQueue";
constexpr char kByCohort[] = "cohort";
constexpr char kByParent[] = "parent";
constexpr char kByOwner[] = "owner";
constexpr std::chrono::seconds kBetweenQueues{1};

std::string TextOf(const Json& value) { return api::FormatJson(value); }

// The row of an item; a field that the item lacks is null.
readapi::Row RowOf(std::size_t resource, std::string id, const Json& item,
                   readapi::Audience audience) {
  readapi::Row row{.id = std::move(id), .cells = {}, .audience = std::move(audience)};
  for (const readapi::Field& field : readapi::Resources()[resource].fields) {
    const auto found = item.find(field.name);
    row.cells.push_back(found == item.end() ? "null" : TextOf(*found));
  }
  return row;
}

template <typename T>
void Store(const Changed<T>& changed, kube::ObjectStore<T>& store) {
  for (const auto& [key, object] : changed) {
    if (object == nullptr) {
      store.Remove(key);
    } else {
      store.Put(object);
    }
  }
}

template <typename Keys>
typename Keys::value_type TakeFirst(Keys& keys) {
  return std::move(keys.extract(keys.begin()).value());
}

}  // namespace

ReadMirror::ReadMirror(const Clock& clock, readapi::Model& model) : clock_(clock), model_(model) {
  workloads_.AddIndex(kByLocalQueue, [](const api::Workload& workload) {
    return std::vector<std::string>{workload.meta.namespace_name + "/" + workload.spec.queue_name};
  });
  local_queues_.AddIndex(kByClusterQueue, [](const api::LocalQueue& local) {
    return std::vector<std::string>{local.cluster_queue};
  });
  cluster_queues_.AddIndex(kByCohort, [](const api::ClusterQueue& queue) {
    return std::vector<std::string>{queue.spec.cohort_name};
  });
  cohorts_.AddIndex(kByParent, [](const api::Cohort& cohort) {
    return std::vector<std::string>{cohort.spec.parent_name};
  });
  requests_.AddIndex(kByOwner, [](const api::ProvisioningRequest& request) {
    std::vector<std::string> owners;
    for (const auto& owner : request.meta.owner_references) {
      owners.push_back(api::OwnerKey(request.meta.namespace_name, owner.uid));
    }
    return owners;
  });
}

void ReadMirror::Take(const ReadBatch& batch) {
  TakeLocalQueues(batch.local_queues);
  TakeClusterQueues(batch);
  TakeRequests(batch.requests);
  TakeTurns(batch.turns);
  Store(batch.workloads, workloads_);
  for (const auto& [key, workload] : batch.workloads) dirty_workloads_.insert(key);
  Store(batch.pods, pods_);
  has_pods_ = has_pods_ || batch.has_all_pods;
  Store(batch.nodes, nodes_);
  for (const auto& [key, node] : batch.nodes) {
    node == nullptr ? machines_.Remove(key.name) : machines_.Set(*node);
  }
}

// Marks the workloads whose turns have come, gone or changed.
void ReadMirror::TakeTurns(const std::map<std::string, QueueTurns::Turns>& changed) {
  for (const auto& [queue, turns] : changed) {
    QueueTurns::Turns before = std::exchange(turns_[queue], turns);
    for (const auto& [key, turn] : turns) {
      const auto known = before.find(key);
      if (known == before.end() || known->second != turn) dirty_workloads_.insert(key);
      if (known != before.end()) before.erase(known);
    }
    for (const auto& [key, turn] : before) dirty_workloads_.insert(key);
    if (turns.empty()) turns_.erase(queue);
  }
}

std::optional<std::int64_t> ReadMirror::TurnOf(const std::string& queue,
                                               const api::ObjectKey& key) const {
  const auto turns = turns_.find(queue);
  if (turns == turns_.end()) return std::nullopt;
  const auto turn = turns->second.find(key);
  return turn == turns->second.end() ? std::nullopt : std::optional(turn->second);
}

void ReadMirror::MarkWorkloadsOf(const api::ObjectKey& local_queue) {
  for (const auto& workload : workloads_.ByIndex(kByLocalQueue, local_queue.ToString())) {
    dirty_workloads_.insert(workload->meta.key());
  }
}

void ReadMirror::TakeLocalQueues(const Changed<api::LocalQueue>& changed) {
  for (const auto& [key, local] : changed) {
    dirty_local_queues_.insert(key);
    const auto before = local_queues_.Get(key);
    const std::string was = before == nullptr ? "" : before->cluster_queue;
    const std::string now = local == nullptr ? "" : local->cluster_queue;
    if (was == now && (before == nullptr) == (local == nullptr)) continue;
    for (const std::string& queue : {was, now}) {
      if (queue.empty()) continue;
      dirty_queues_.insert(queue);
      const auto found = cluster_queues_.Get({"", queue});
      if (found != nullptr) MarkCohort(found->spec.cohort_name);
    }
    MarkWorkloadsOf(key);
  }
  Store(changed, local_queues_);
}

void ReadMirror::TakeClusterQueues(const ReadBatch& batch) {
  std::set<std::string> trees;  // a cohort of each tree that has changed
  for (const auto& [key, queue] : batch.cluster_queues) {
    dirty_queues_.insert(key.name);
    const auto before = cluster_queues_.Get(key);
    if (before != nullptr) MarkCohort(before->spec.cohort_name);
    if (queue != nullptr) MarkCohort(queue->spec.cohort_name);
    if (before != nullptr && !before->spec.cohort_name.empty() &&
        (queue == nullptr || queue->spec.cohort_name != before->spec.cohort_name)) {
      trees.insert(before->spec.cohort_name);
    }
    if ((before == nullptr) == (queue == nullptr)) continue;
    // A reason may be that the ClusterQueue does not exist.
    for (const auto& local : local_queues_.ByIndex(kByClusterQueue, key.name)) {
      MarkWorkloadsOf(local->meta.key());
    }
  }
  Store(batch.cluster_queues, cluster_queues_);
  for (const auto& [key, cohort] : batch.cohorts) {
    trees.insert(key.name);
    const auto before = cohorts_.Get(key);
    if (before != nullptr && !before->spec.parent_name.empty()) {
      trees.insert(before->spec.parent_name);
    }
  }
  Store(batch.cohorts, cohorts_);
  for (const std::string& cohort : trees) {
    MarkCohort(cohort);
    MarkTree(RootOf(cohort));
  }
}

void ReadMirror::MarkCohort(const std::string& cohort) {
  if (!cohort.empty()) dirty_cohorts_.insert(cohort);
}

// Marks one queue: ProjectTree brings the rows of its whole tree up to date.
void ReadMirror::MarkTree(const std::string& root) {
  for (const std::string& cohort : CohortsBelow(root)) {
    const auto queues = cluster_queues_.ByIndex(kByCohort, cohort);
    if (queues.empty()) continue;
    dirty_queues_.insert(queues.front()->meta.name);
    return;
  }
}

void ReadMirror::MarkOwners(const api::ProvisioningRequest& request) {
  for (const api::OwnerReference& owner : request.meta.owner_references) {
    if (owner.kind == "Workload") {
      dirty_workloads_.insert({request.meta.namespace_name, owner.name});
    }
  }
}

void ReadMirror::TakeRequests(const Changed<api::ProvisioningRequest>& changed) {
  for (const auto& [key, request] : changed) {
    dirty_requests_.insert(key);
    if (const auto before = requests_.Get(key)) MarkOwners(*before);
    if (request != nullptr) MarkOwners(*request);
  }
  Store(changed, requests_);
}

std::optional<Duration> ReadMirror::Work(std::size_t most) {
  for (; most > 0 && !dirty_local_queues_.empty(); --most) {
    ProjectLocalQueue(TakeFirst(dirty_local_queues_));
  }
  for (; most > 0 && !dirty_requests_.empty(); --most) ProjectRequest(TakeFirst(dirty_requests_));
  for (; most > 0 && !dirty_workloads_.empty(); --most) {
    ProjectWorkload(TakeFirst(dirty_workloads_));
  }
  if (!dirty_local_queues_.empty() || !dirty_requests_.empty() || !dirty_workloads_.empty()) {
    return Duration::zero();
  }
  if (dirty_queues_.empty() && dirty_cohorts_.empty()) return std::nullopt;
  const SteadyTime now = clock_.SteadyNow();
  if (queues_done_at_ && now < *queues_done_at_ + kBetweenQueues) {
    return *queues_done_at_ + kBetweenQueues - now;
  }
  while (!dirty_queues_.empty()) ProjectTree(TakeFirst(dirty_queues_));
  ProjectCohorts();
  queues_done_at_ = now;
  return std::nullopt;
}

readapi::Audience ReadMirror::AudienceOf(const std::string& namespace_name) {
  readapi::Audience& audience = audience_by_namespace_[namespace_name];
  if (audience == nullptr) {
    audience =
        std::make_shared<const std::vector<std::string>>(std::vector<std::string>{namespace_name});
  }
  return audience;
}

readapi::Audience ReadMirror::ReadersOf(const std::string& cluster_queue) const {
  std::set<std::string> namespaces;
  for (const auto& local : local_queues_.ByIndex(kByClusterQueue, cluster_queue)) {
    namespaces.insert(local->meta.namespace_name);
  }
  return std::make_shared<const std::vector<std::string>>(namespaces.begin(), namespaces.end());
}

// Names of queues stand for the queues: a row shows no more of them.
view::ClusterView ReadMirror::ViewOf(const api::Workload& workload) const {
  view::ClusterView view;
  view.now = clock_.Now();
  view.namespace_name = workload.meta.namespace_name;
  const auto local = local_queues_.Get({workload.meta.namespace_name, workload.spec.queue_name});
  if (local != nullptr) {
    api::LocalQueue& queue = view.local_queues.emplace_back();
    queue.meta.namespace_name = local->meta.namespace_name;
    queue.meta.name = local->meta.name;
    queue.cluster_queue = local->cluster_queue;
    queue.stop_policy = local->stop_policy;
    if (cluster_queues_.Get({"", local->cluster_queue}) != nullptr) {
      view.cluster_queues.emplace_back().meta.name = local->cluster_queue;
    }
  }
  for (const auto& request : requests_.ByIndex(kByOwner, api::OwnerKey(workload.meta))) {
    view.provisioning_requests.push_back(*request);
  }
  return view;
}

void ReadMirror::ProjectWorkload(const api::ObjectKey& key) {
  const auto workload = workloads_.Get(key);
  if (workload == nullptr) {
    model_.Remove(readapi::kWorkloads, key.ToString());
    return;
  }
  const view::ClusterView view = ViewOf(*workload);
  Json item = view::WorkloadItem(view, *workload);
  if (const auto turn = TurnOf(view::ClusterQueueOf(view, *workload), key);
      turn && !item["turn"].is_null()) {
    item["turn"] = *turn;
  }
  // Candidates of other namespaces are for readers of all namespaces.
  Json& reason = item["reason"];
  if (const auto victims = reason.find("notPreempted");
      reason.is_object() && victims != reason.end()) {
    item["notPreempted"] = std::move(*victims);
    reason.erase("notPreempted");
  }
  model_.Put(readapi::kWorkloads,
             RowOf(readapi::kWorkloads, key.ToString(), item, AudienceOf(key.namespace_name)));
}

void ReadMirror::ProjectLocalQueue(const api::ObjectKey& key) {
  const auto local = local_queues_.Get(key);
  if (local == nullptr) {
    model_.Remove(readapi::kLocalQueues, key.ToString());
    return;
  }
  model_.Put(readapi::kLocalQueues,
             RowOf(readapi::kLocalQueues, key.ToString(), view::LocalQueueItem(*local),
                   AudienceOf(key.namespace_name)));
}

void ReadMirror::ProjectRequest(const api::ObjectKey& key) {
  const auto request = requests_.Get(key);
  if (request == nullptr) {
    model_.Remove(readapi::kCapacityRequests, key.ToString());
    return;
  }
  model_.Put(readapi::kCapacityRequests,
             RowOf(readapi::kCapacityRequests, key.ToString(), view::CapacityRequestItem(*request),
                   AudienceOf(key.namespace_name)));
}

std::string ReadMirror::RootOf(const std::string& cohort) const {
  std::string root = cohort;
  std::set<std::string> seen{root};
  while (true) {
    const auto found = cohorts_.Get({"", root});
    if (found == nullptr || found->spec.parent_name.empty() ||
        !seen.insert(found->spec.parent_name).second) {
      return root;
    }
    root = found->spec.parent_name;
  }
}

std::vector<std::string> ReadMirror::CohortsBelow(const std::string& root) const {
  std::vector<std::string> cohorts;
  std::set<std::string> seen{root};
  std::vector<std::string> next{root};
  while (!next.empty()) {
    cohorts.push_back(std::move(next.back()));
    next.pop_back();
    for (const auto& child : cohorts_.ByIndex(kByParent, cohorts.back())) {
      if (seen.insert(child->meta.name).second) next.push_back(child->meta.name);
    }
  }
  return cohorts;
}

view::ClusterView ReadMirror::TreeOf(const std::string& root) const {
  view::ClusterView view;
  view.missing = {"workloads"};  // the counts and the usage of the status are shown
  for (const std::string& cohort : CohortsBelow(root)) {
    if (const auto found = cohorts_.Get({"", cohort})) view.cohorts.push_back(*found);
    for (const auto& queue : cluster_queues_.ByIndex(kByCohort, cohort)) {
      view.cluster_queues.push_back(*queue);
    }
  }
  return view;
}

// Brings the row of the queue up to date, and those of its cohort tree: quota that is borrowed from
// a queue is in the rows of both.
void ReadMirror::ProjectTree(const std::string& queue) {
  const auto found = cluster_queues_.Get({"", queue});
  if (found == nullptr) {
    model_.Remove(readapi::kQueues, queue);
    return;
  }
  view::ClusterView view;
  if (found->spec.cohort_name.empty()) {
    view.missing = {"workloads"};
    view.cluster_queues.push_back(*found);
  } else {
    view = TreeOf(RootOf(found->spec.cohort_name));
  }
  const auto parent_of = [this](const std::string& cohort) {
    const auto found_cohort = cohorts_.Get({"", cohort});
    return found_cohort == nullptr ? "" : found_cohort->spec.parent_name;
  };
  for (const auto& [name, use] : view::SumUse(view)) {
    const Json item = view::QueueItem(use, view::ParentsOf(use.queue->spec.cohort_name, parent_of));
    model_.Put(readapi::kQueues, RowOf(readapi::kQueues, name, item, ReadersOf(name)));
    dirty_queues_.erase(name);
  }
}

// Whether an object, a queue or another Cohort says so.
bool ReadMirror::IsCohort(const std::string& name) const {
  return cohorts_.Get({"", name}) != nullptr || cluster_queues_.HasIn(kByCohort, name) ||
         cohorts_.HasIn(kByParent, name);
}

readapi::Audience ReadMirror::ReadersOfTree(const std::string& cohort) const {
  std::set<std::string> namespaces;
  for (const std::string& queue : QueuesBelow(cohort)) {
    const readapi::Audience readers = ReadersOf(queue);
    namespaces.insert(readers->begin(), readers->end());
  }
  return std::make_shared<const std::vector<std::string>>(namespaces.begin(), namespaces.end());
}

// Brings the rows of the trees of dirty_cohorts_ up to date.
void ReadMirror::ProjectCohorts() {
  std::set<std::string> roots;
  for (const std::string& cohort : dirty_cohorts_) {
    if (IsCohort(cohort)) {
      roots.insert(RootOf(cohort));
    } else {
      model_.Remove(readapi::kCohorts, cohort);
    }
  }
  dirty_cohorts_.clear();
  const auto parent_of = [this](const std::string& cohort) {
    const auto found = cohorts_.Get({"", cohort});
    return found == nullptr ? "" : found->spec.parent_name;
  };
  for (const std::string& root : roots) {
    const view::ClusterView view = TreeOf(root);
    for (const auto& [name, uses] : view::SumCohorts(view, view::SumUse(view))) {
      const auto cohort = cohorts_.Get({"", name});
      const Json item =
          view::CohortItem(name, cohort.get(), view::ParentsOf(name, parent_of), uses);
      model_.Put(readapi::kCohorts, RowOf(readapi::kCohorts, name, item, ReadersOfTree(name)));
    }
  }
}

std::vector<std::string> ReadMirror::QueuesBelow(const std::string& cohort) const {
  std::vector<std::string> names;
  for (const std::string& below : CohortsBelow(cohort)) {
    for (const auto& queue : cluster_queues_.ByIndex(kByCohort, below)) {
      names.push_back(queue->meta.name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

MirrorObjects ReadMirror::WorkloadsOf(const std::vector<std::string>& ids) const {
  MirrorObjects objects;
  for (const std::string& id : ids) {
    const std::size_t slash = id.find('/');
    if (slash == std::string::npos) continue;
    auto workload = workloads_.Get({id.substr(0, slash), id.substr(slash + 1)});
    if (workload != nullptr) objects.workloads.push_back(std::move(workload));
  }
  return objects;
}

MirrorObjects ReadMirror::Objects(MirrorPart part) const {
  const auto copy = [](const auto& store, auto& out) {
    out.assign(store.objects().begin(), store.objects().end());
  };
  MirrorObjects objects;
  copy(workloads_, objects.workloads);
  copy(local_queues_, objects.local_queues);
  copy(cluster_queues_, objects.cluster_queues);
  copy(cohorts_, objects.cohorts);
  copy(requests_, objects.requests);
  for (const auto& [queue, turns] : turns_) objects.turns.insert(turns.begin(), turns.end());
  objects.machines = machines_.Sums();
  if (part == MirrorPart::kQueues) return objects;
  copy(nodes_, objects.nodes);
  copy(pods_, objects.pods);
  objects.has_pods = has_pods_;
  return objects;
}

std::optional<std::string> ReadMirror::Story(const std::string& namespace_name,
                                             const std::string& name) const {
  const auto workload = workloads_.Get({namespace_name, name});
  if (workload == nullptr) return std::nullopt;
  view::ClusterView view = ViewOf(*workload);
  view.cluster_queues.clear();
  if (!view.local_queues.empty()) {
    const auto queue = cluster_queues_.Get({"", view.local_queues.front().cluster_queue});
    if (queue != nullptr) view.cluster_queues.push_back(*queue);
  }
  // Nothing follows from the absence of objects that the mirror does not have.
  view.missing = {"admissionchecks", "cohorts", "jobs", "namespaces",
                  "nodepools",       "nodes",   "pods", "resourceflavors"};
  view.workloads.push_back(*workload);
  HideOthers(view.workloads.back());
  const Result<view::Story> story =
      view::TellStory(view, namespace_name, "workload/" + name, view::kJsonStyle);
  if (!story) return std::nullopt;
  view::Story told = *story;
  told.not_seen.push_back("not read, for want of an answer of the API server: " +
                          Join(view.missing, ", "));
  return TextOf(view::StoryJson(told));
}

}  // namespace berth::program
