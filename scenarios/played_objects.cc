#include "scenarios/played_objects.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "api/labels.h"
#include "api/quantity.h"
#include "checks/check_kinds.h"
#include "scenarios/world/sim_runner.h"

namespace berth::scenarios {
namespace {

using Json = nlohmann::json;

constexpr char kGpu[] = "nvidia.com/gpu";
constexpr std::int64_t kKeepFinishedSeconds = 60;
constexpr std::int64_t kBackoffLimit = 1'000'000;  // pods of machines that were taken back
constexpr char kStoredVersion[] = "kueue.x-k8s.io/v1beta2";

// Kinds that a played cluster begins with.
bool IsPlayed(const std::string& kind) {
  constexpr std::array<std::string_view, 11> kKinds{"Namespace",      "ResourceFlavor",
                                                    "Cohort",         "ClusterQueue",
                                                    "LocalQueue",     "WorkloadPriorityClass",
                                                    "AdmissionCheck", "ProvisioningPolicy",
                                                    "Topology",       "Node",
                                                    "NodePool"};
  return checks::IsParametersKind(kind) ||
         std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

std::string KindOf(const Json& object) {
  const auto kind = object.find("kind");
  return kind != object.end() && kind->is_string() ? kind->get<std::string>() : "";
}

// The status of a Node says what the Node has; every other status is a controller's.
Json Cleaned(Json object) {
  if (KindOf(object) != "Node") object.erase("status");
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return object;
  for (const char* field : {"uid", "resourceVersion", "generation", "creationTimestamp",
                            "managedFields", "ownerReferences", "finalizers", "selfLink"}) {
    metadata->erase(field);
  }
  return object;
}

void Collect(const Json& document, std::vector<Json>& objects) {
  if (!document.is_object()) return;
  const auto items = document.find("items");
  if (items != document.end() && items->is_array()) {
    for (const Json& item : *items) {
      if (item.is_object() && IsPlayed(KindOf(item))) objects.push_back(Cleaned(item));
    }
    return;
  }
  if (IsPlayed(KindOf(document))) objects.push_back(Cleaned(document));
}

// Whether the word of the trace is the name of a class of the cluster.
bool IsClass(const simulation::Cluster& cluster, const std::string& word) {
  return std::any_of(cluster.priority_classes.begin(), cluster.priority_classes.end(),
                     [&word](const api::PriorityClass& each) { return each.meta.name == word; });
}

std::string ClassOfNumber(std::int32_t priority) {
  constexpr char kStem[] = "simulated-priority-";
  return priority < 0 ? kStem + ("minus-" + std::to_string(-static_cast<std::int64_t>(priority)))
                      : kStem + std::to_string(priority);
}

std::string ClassOf(const simulation::Cluster& cluster, const simulation::Job& job) {
  return IsClass(cluster, job.priority_class) ? job.priority_class : ClassOfNumber(job.priority);
}

Json MakePodTemplate(const simulation::Job& job) {
  const api::PodSet& pods = job.shape->pod_sets[0];
  const std::string runs = std::to_string(job.run.count()) + "us";
  Json container{{"name", "main"}, {"image", sim::kSimImage}, {"args", Json::array({runs})}};
  Json requests = Json::object();
  for (const auto& [resource, amount] : pods.pod_template.spec.containers[0].requests) {
    requests[resource] = api::FormatAmount(resource, amount);
    // Extended resources must be in both.
    if (resource.find('/') != std::string::npos) {
      container["resources"]["limits"][resource] = requests[resource];
    }
  }
  Json spec{{"restartPolicy", "Never"}};
  if (requests.contains(kGpu)) {
    spec["tolerations"] =
        Json::array({{{"key", kGpu}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
  }
  if (!requests.empty()) container["resources"]["requests"] = std::move(requests);
  spec["containers"] = Json::array({std::move(container)});
  return {{"spec", std::move(spec)}};
}

}  // namespace

std::string PlayedJobName(std::size_t job) {
  constexpr std::size_t kDigits = 8;
  std::string digits = std::to_string(job);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return "job-" + digits;
}

Json MakePlayedJob(const simulation::Cluster& cluster, const simulation::Job& job,
                   std::size_t number) {
  const api::ObjectMeta& queue = cluster.local_queues[job.local_queue].meta;
  Json labels{{api::kQueueLabel, queue.name}};
  if (!job.priority_class.empty()) labels[api::kPriorityClassLabel] = ClassOf(cluster, job);
  if (job.walltime) labels[api::kMaxExecTimeLabel] = std::to_string(*job.walltime);
  const std::int32_t pods = job.shape->pod_sets[0].count;
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", PlayedJobName(number)},
            {"namespace", queue.namespace_name},
            {"labels", std::move(labels)}}},
          {"spec",
           {{"suspend", true},
            {"parallelism", pods},
            {"completions", pods},
            {"backoffLimit", kBackoffLimit},
            {"ttlSecondsAfterFinished", kKeepFinishedSeconds},
            {"template", MakePodTemplate(job)}}}};
}

std::vector<Json> ObjectsForJobs(const simulation::Cluster& cluster,
                                 const std::vector<simulation::Job>& jobs) {
  std::vector<Json> objects;
  for (const api::Namespace& each : cluster.namespaces) {
    objects.push_back(
        {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", each.meta.name}}}});
  }
  std::set<std::int32_t> numbers;
  for (const simulation::Job& job : jobs) {
    if (job.priority_class.empty() || IsClass(cluster, job.priority_class)) continue;
    if (!numbers.insert(job.priority).second) continue;
    objects.push_back({{"apiVersion", kStoredVersion},
                       {"kind", "WorkloadPriorityClass"},
                       {"metadata", {{"name", ClassOfNumber(job.priority)}}},
                       {"value", job.priority}});
  }
  return objects;
}

std::vector<Json> PlayableObjects(const std::vector<Json>& documents) {
  std::vector<Json> objects;
  for (const Json& document : documents) Collect(document, objects);
  std::stable_partition(objects.begin(), objects.end(),
                        [](const Json& object) { return KindOf(object) == "Namespace"; });
  return objects;
}

}  // namespace berth::scenarios
