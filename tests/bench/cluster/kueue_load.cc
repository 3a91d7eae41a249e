#include "tests/bench/cluster/kueue_load.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "api/pod_groups.h"

namespace berth::bench {

using kube::Json;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kRetryDelay{100};
// Creations whose answer is open: four for each of the 64 connections.
constexpr std::size_t kMostSent = 256;
constexpr char kFlavor[] = "rf";
constexpr char kTopology[] = "racks";
constexpr char kBlockLabel[] = "cloud.provider.com/topology-block";
constexpr char kRackLabel[] = "cloud.provider.com/topology-rack";
constexpr char kHostLabel[] = "kubernetes.io/hostname";
constexpr char kGroupLabel[] = "tas-node-group";  // all nodes of the topology

Json Object(const char* kind, const std::string& name, Json spec) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", kind},
          {"metadata", {{"name", name}}},
          {"spec", std::move(spec)}};
}

Json ClusterQueueOf(const std::string& name, const std::string& cohort, const std::string& quota) {
  const Json cpu = {{"name", "cpu"}, {"nominalQuota", quota}, {"borrowingLimit", "100"}};
  const Json flavors = Json::array({{{"name", kFlavor}, {"resources", Json::array({cpu})}}});
  return Object(
      "ClusterQueue", name,
      {{"cohortName", cohort},
       {"namespaceSelector", Json::object()},
       {"preemption", {{"reclaimWithinCohort", "Any"}, {"withinClusterQueue", "LowerPriority"}}},
       {"resourceGroups", Json::array({{{"coveredResources", {"cpu"}}, {"flavors", flavors}}})}});
}

Json FlavorOf(const LoadTest& test) {
  if (test.racks == 0) return Object("ResourceFlavor", kFlavor, Json::object());
  return Object("ResourceFlavor", kFlavor,
                {{"topologyName", kTopology}, {"nodeLabels", {{kGroupLabel, "tas"}}}});
}

Json TopologyOfRacks() {
  Json levels = Json::array();
  for (const char* label : {kBlockLabel, kRackLabel, kHostLabel}) {
    levels.push_back({{"nodeLabel", label}});
  }
  return Object("Topology", kTopology, {{"levels", std::move(levels)}});
}

Json NodeOf(int rack, int number) {
  const std::string name = "node-b0-r" + std::to_string(rack) + "-n" + std::to_string(number);
  const Json amounts = {{"cpu", "96"}, {"memory", "256Gi"}, {"pods", "110"}};
  const Json ready = {{"type", "Ready"}, {"status", "True"}, {"reason", "ByTest"}};
  return {
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata",
       {{"name", name},
        {"labels",
         {{kGroupLabel, "tas"},
          {kBlockLabel, "block-0"},
          {kRackLabel, "rack-" + std::to_string(rack)},
          {kHostLabel, name}}}}},
      {"status",
       {{"capacity", amounts}, {"allocatable", amounts}, {"conditions", Json::array({ready})}}}};
}

Json PlacingOf(const WorkloadClass& kind) {
  if (kind.placing == Placing::kRequired) return {{"required", kRackLabel}};
  if (kind.placing == Placing::kPreferred) return {{"preferred", kRackLabel}};
  return {{"podSetSliceRequiredTopology", kRackLabel}, {"podSetSliceSize", kind.slice_pods}};
}

Json ContainersOf(const WorkloadClass& kind) {
  const Json container = {
      {"name", "c"}, {"image", "none"}, {"resources", {{"requests", {{"cpu", kind.cpu}}}}}};
  return Json::array({container});
}

Json WorkloadOf(const WorkloadClass& kind, const std::string& queue, int number) {
  Json pods = {
      {"name", "main"},
      {"count", kind.pods},
      {"template", {{"spec", {{"restartPolicy", "Never"}, {"containers", ContainersOf(kind)}}}}}};
  if (kind.placing != Placing::kNone) pods["topologyRequest"] = PlacingOf(kind);
  Json workload =
      Object("Workload", queue + "-" + kind.name + "-" + std::to_string(number),
             {{"queueName", queue}, {"priority", kind.priority}, {"podSets", Json::array({pods})}});
  workload["metadata"]["labels"] = {{kClassLabel, kind.size}};
  return workload;
}

// The pod `number` of the group `group`, as the webhook leaves it.
Json GatedPodOf(const WorkloadClass& kind, const std::string& queue, int group, int number) {
  const std::string name = queue + "-" + kind.name + "-" + std::to_string(group);
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", name + "-" + std::to_string(number)},
        {"labels",
         {{api::kQueueLabel, queue},
          {api::kManagedLabel, "true"},
          {api::kPodGroupNameLabel, name}}},
        {"annotations", {{api::kPodGroupTotalCountAnnotation, std::to_string(kind.group_pods)}}},
        {"finalizers", {api::kManagedFinalizer}}}},
      {"spec",
       {{"restartPolicy", "Never"},
        {"schedulingGates", Json::array({{{"name", api::kAdmissionGate}}})},
        {"containers", ContainersOf(kind)}}}};
}

// The Workloads of a size run for one time.
std::map<std::string, Duration> RunTimesOf(const LoadTest& test) {
  std::map<std::string, Duration> run_times;
  for (const WorkloadClass& kind : test.classes) run_times[kind.size] = kind.run_time;
  return run_times;
}

// An API server that restarts, or an answer that was lost: the creation is repeated.
bool IsPassing(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kDeadlineExceeded ||
         error.code == ErrorCode::kTooManyRequests || error.code == ErrorCode::kInternal;
}

double Mean(const std::vector<double>& values) {
  return values.empty() ? 0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

// The value that `part` of the values do not exceed.
double Quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

}  // namespace

KueueLoad::KueueLoad(kube::Manager& manager, const Clock& clock, const LoadTest& test, int share,
                     std::function<void(const std::string& error)> refused)
    : client_(manager.client()),
      clock_(clock),
      test_(test),
      share_(share),
      refused_(std::move(refused)),
      player_(manager, clock, RunTimesOf(test)),
      queues_(manager.InformerFor<api::ClusterQueue>()) {}

void KueueLoad::Create(const api::ResourceKind& kind, const std::string& space,
                       const Json& object) {
  ++open_creates_;
  Send({kind, space, object, [this](const Result<kube::JsonPtr>& made) {
          --open_creates_;
          if (!made) refused_(made.error().message);
        }});
}

void KueueLoad::Send(Creation creation) {
  waiting_.push_back(std::move(creation));
  SendMore();
}

void KueueLoad::SendMore() {
  while (sent_ < kMostSent && !waiting_.empty()) {
    const Creation next = std::move(waiting_.front());
    waiting_.pop_front();
    ++sent_;
    client_.Create(next.kind, next.space, next.object, {},
                   [this, done = next.done](const Result<kube::JsonPtr>& made) {
                     --sent_;
                     done(made);
                     SendMore();
                   });
  }
}

void KueueLoad::MakeNodes() {
  constexpr api::ResourceKind kNode{"", "v1", "Node", "nodes", false};
  Create(api::KindOf<api::Topology>(), "", TopologyOfRacks());
  for (int rack = 0; rack < test_.racks; ++rack) {
    for (int node = 0; node < test_.nodes_of_rack; ++node) Create(kNode, "", NodeOf(rack, node));
  }
}

void KueueLoad::MakeQueues() {
  constexpr api::ResourceKind kNamespace{"", "v1", "Namespace", "namespaces", false};
  if (test_.racks > 0) MakeNodes();
  Create(api::KindOf<api::ResourceFlavor>(), "", FlavorOf(test_));
  for (int cohort = 0; cohort < test_.cohorts; ++cohort) {
    for (int queue = 0; queue < test_.queues_of_cohort; ++queue) {
      const std::string name = "cq-" + std::to_string(cohort) + "-" + std::to_string(queue);
      Create(api::KindOf<api::ClusterQueue>(), "",
             ClusterQueueOf(name, "cohort-" + std::to_string(cohort), test_.quota));
      for (int number = 0; number < test_.namespaces_of_queue; ++number) {
        const std::string space = number == 0 ? name : name + "-" + std::to_string(number);
        places_.push_back({space, name});
        Create(kNamespace, "",
               {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", space}}}});
      }
    }
  }
}

void KueueLoad::StartGenerators() {
  for (const Place& place : places_) {
    Create(api::KindOf<api::LocalQueue>(), place.space,
           Object("LocalQueue", place.space, {{"clusterQueue", place.queue}}));
    for (const WorkloadClass& kind : test_.classes) {
      const int count = (kind.count * share_ + 99) / 100;
      const int objects = count * std::max(kind.group_pods, 1);
      expected_ += static_cast<std::size_t>(count);
      to_create_ += static_cast<std::size_t>(objects);
      Generate(kind, place.space, 0, objects, clock_.SteadyNow());
    }
  }
}

void KueueLoad::Generate(const WorkloadClass& kind, const std::string& queue, int number, int count,
                         SteadyTime due) {
  if (number >= count) return;
  client_.executor().PostAfter(due - clock_.SteadyNow(), [=, this, &kind] {
    const bool grouped = kind.group_pods > 0;
    Send({grouped ? api::KindOf<api::Pod>() : api::KindOf<api::Workload>(), queue,
          grouped ? GatedPodOf(kind, queue, number / kind.group_pods, number % kind.group_pods)
                  : WorkloadOf(kind, queue, number),
          [=, this, &kind](const Result<kube::JsonPtr>& made) {
            const SteadyTime now = clock_.SteadyNow();
            if (made || made.error().code == ErrorCode::kAlreadyExists) {
              ++created_;
              return Generate(kind, queue, number + 1, count, now + kind.interval);
            }
            if (!IsPassing(made.error())) return refused_(made.error().message);
            Generate(kind, queue, number, count, now + kRetryDelay);
          }});
  });
}

bool KueueLoad::AreCreated() const { return open_creates_ == 0 && created_ == to_create_; }

bool KueueLoad::IsDone() const {
  if (player_.finished() < expected_) return false;
  for (const auto& queue : queues_.objects()) {
    if (queue->status.pending_workloads != 0 || queue->status.reserving_workloads != 0)
      return false;
  }
  return true;
}

Json KueueLoad::Report(Duration wall) const {
  Json result = {{"wall_s", std::chrono::duration<double>(wall).count()},
                 {"workloads", expected_},
                 {"admissions", player_.admissions()},
                 {"admitted_twice", player_.admitted_twice()},
                 {"longest_gaps", Json::array()},
                 {"classes", Json::object()}};
  for (const AdmissionGap& gap : player_.LongestGaps()) {
    result["longest_gaps"].push_back(
        {{"begin_unix_s", gap.begin_unix_s}, {"seconds", gap.seconds}});
  }
  for (const auto& [name, seen] : player_.results()) {
    result["classes"][name] = {
        {"finished", seen.finished},
        {"admission_s", Mean(seen.admission_seconds)},
        {"admission_p50_p90_p99_s",
         {Quantile(seen.admission_seconds, 0.5), Quantile(seen.admission_seconds, 0.9),
          Quantile(seen.admission_seconds, 0.99)}},
        {"evictions", seen.evictions},
        {"evictions_by_reason", seen.evictions_by_reason},
        {"most_evictions_of_one", seen.most_evictions},
        {"held_before_eviction_s", Mean(seen.held_seconds)}};
  }
  return result;
}

}  // namespace berth::bench
