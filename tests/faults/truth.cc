#include "tests/faults/truth.h"

#include <algorithm>

#include "api/codec/codec.h"
#include "api/labels.h"
#include "api/quantity.h"
#include "base/strings.h"
#include "local/cluster/objects/fields.h"
#include "tests/faults/request_part.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::BoolAt;
using local::cluster::ConditionIs;
using local::cluster::Find;
using local::cluster::IntAt;
using local::cluster::StringAt;

constexpr char kKueueGroup[] = ".kueue.x-k8s.io";
constexpr char kElasticJob[] = "kueue.x-k8s.io/elastic-job";  // annotation, and gate of pods
constexpr char kReplaces[] = "kueue.x-k8s.io/workload-slice-replacement-for";

std::int64_t AmountOf(const std::string& resource, const Json& value) {
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  const auto amount = api::ParseAmount(resource, text);
  return amount ? *amount : 0;
}

std::map<std::string, std::string> StringsAt(const Json& object, local::cluster::Path path) {
  std::map<std::string, std::string> strings;
  const Json* found = Find(object, path);
  if (found == nullptr || !found->is_object()) return strings;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string()) strings[key] = value.get<std::string>();
  }
  return strings;
}

// The requests of a pod, with limits where requests are missing.
std::map<std::string, std::int64_t> RequestsOf(const Json& pod_spec) {
  std::map<std::string, std::int64_t> requests;
  for (const Json& container : ArrayAt(pod_spec, {"containers"})) {
    std::map<std::string, std::int64_t> own;
    for (const char* field : {"limits", "requests"}) {
      const Json* amounts = Find(container, {"resources", field});
      if (amounts == nullptr) continue;
      for (const auto& [name, value] : amounts->items()) own[name] = AmountOf(name, value);
    }
    for (const auto& [name, amount] : own) requests[name] += amount;
  }
  return requests;
}

// The number of pods of the pod set that need no quota.
std::int64_t Reclaimable(const Json& workload, const std::string& pod_set) {
  for (const Json& each : ArrayAt(workload, {"status", "reclaimablePods"})) {
    if (StringAt(each, {"name"}) == pod_set) return IntAt(each, {"count"});
  }
  return 0;
}

void ReadAdmission(const Json& workload, WorkloadFacts& facts) {
  facts.cluster_queue = StringAt(workload, {"status", "admission", "clusterQueue"});
  std::set<std::string> flavors;
  for (const Json& set : ArrayAt(workload, {"status", "admission", "podSetAssignments"})) {
    const std::int64_t count = IntAt(set, {"count"}, 1);
    facts.granted_pods += count;
    const auto flavor_of = StringsAt(set, {"flavors"});
    for (PodSetFacts& asked : facts.pod_sets) {
      if (asked.name != StringAt(set, {"name"})) continue;
      // Where fewer pods were admitted than requested, all count until fewer are left to run.
      const std::int64_t left = std::min(count, asked.count);
      asked.granted = left;
      for (const auto& [resource, flavor] : flavor_of) {
        const auto each = asked.requests.find(resource);
        if (each == asked.requests.end()) continue;
        facts.granted[{flavor, resource}] += each->second * count;
        facts.usage[{flavor, resource}] += each->second * left;
      }
    }
    for (const auto& [resource, flavor] : flavor_of) {
      flavors.insert(flavor);
      if (const Json* value = Find(set, {"resourceUsage", resource.c_str()})) {
        facts.stated[{flavor, resource}] += AmountOf(resource, *value);
      }
    }
  }
  facts.flavors.assign(flavors.begin(), flavors.end());
}

void ReadPlaces(const Json& workload, WorkloadFacts& facts) {
  const bool placed =
      std::any_of(ArrayAt(workload, {"status", "admission", "podSetAssignments"}).begin(),
                  ArrayAt(workload, {"status", "admission", "podSetAssignments"}).end(),
                  [](const Json& set) { return Find(set, {"topologyAssignment"}) != nullptr; });
  if (!placed) return;
  const auto decoded = api::Decode<api::Workload>(workload);
  if (!decoded) return;
  for (const api::PodSetAssignment& set : decoded->status.admission->pod_set_assignments) {
    if (!set.topology_assignment || set.count <= 0) continue;
    const auto cpu = set.resource_usage.find("cpu");
    const std::int64_t each = cpu == set.resource_usage.end() ? 0 : cpu->second / set.count;
    for (const auto& domain : set.topology_assignment->domains) {
      facts.nodes[domain.values.back()] += domain.count;
      facts.node_cpu[domain.values.back()] += each * domain.count;
    }
  }
}

void ReadPreemption(const Json& workload, WorkloadFacts& facts) {
  facts.priority = IntAt(workload, {"spec", "priority"});
  facts.created = StringAt(workload, {"metadata", "creationTimestamp"});
  for (const Json& condition : ArrayAt(workload, {"status", "conditions"})) {
    if (StringAt(condition, {"type"}) == "QuotaReserved" &&
        StringAt(condition, {"status"}) == "False") {
      facts.pending_reason = StringAt(condition, {"reason"});
    }
    if (StringAt(condition, {"type"}) != "Preempted") continue;
    facts.preempted = StringAt(condition, {"status"}) == "True";
    facts.preempted_why = StringAt(condition, {"reason"});
    // "Preempted to accommodate a workload (UID: 1-2, JobUID: …"
    constexpr std::string_view kBefore = "(UID: ";
    const std::string message = StringAt(condition, {"message"});
    const std::size_t at = message.find(kBefore);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + kBefore.size();
    facts.preempted_for = message.substr(begin, message.find_first_of(",)", begin) - begin);
  }
}

WorkloadFacts ReadWorkload(const Key& key, const Json& object) {
  WorkloadFacts facts;
  facts.key = key;
  facts.uid = local::cluster::UidOf(object);
  if (const Json* owner = local::cluster::ControllerRef(object)) {
    facts.job_uid = StringAt(*owner, {"uid"});
    facts.job = StringAt(*owner, {"name"});
  }
  facts.explained = !local::cluster::AnnotationOf(object, api::kExplanationAnnotation).empty();
  facts.growth = local::cluster::AnnotationOf(object, "integrations.berth.dev/growth");
  facts.is_slice = local::cluster::AnnotationOf(object, kElasticJob) == "true";
  facts.replaces = local::cluster::AnnotationOf(object, kReplaces);
  facts.queue = StringAt(object, {"spec", "queueName"});
  const Json* active = Find(object, {"spec", "active"});
  facts.active = active == nullptr || *active != false;
  facts.deleting = local::cluster::IsDeleting(object);
  facts.reserved = ConditionIs(object, "QuotaReserved", "True");
  facts.admitted = ConditionIs(object, "Admitted", "True");
  facts.evicted = ConditionIs(object, "Evicted", "True");
  facts.finished = ConditionIs(object, "Finished", "True");
  facts.pods_ready = ConditionIs(object, "PodsReady", "True");
  facts.held_back = ConditionIs(object, "Requeued", "False") ||
                    ConditionIs(object, "WaitingForReplacementPods", "True") ||
                    Find(object, {"status", "requeueState", "requeueAt"}) != nullptr;
  for (const Json& set : ArrayAt(object, {"spec", "podSets"})) {
    const Json* pod_spec = Find(set, {"template", "spec"});
    PodSetFacts& one = facts.pod_sets.emplace_back();
    one.name = StringAt(set, {"name"});
    one.count = IntAt(set, {"count"}, 1) - Reclaimable(object, one.name);
    one.min_count = std::min(one.count, IntAt(set, {"minCount"}, one.count));
    if (pod_spec == nullptr) continue;
    one.required_level = StringAt(set, {"topologyRequest", "required"});
    one.asks_topology = !one.required_level.empty() ||
                        !StringAt(set, {"topologyRequest", "preferred"}).empty() ||
                        BoolAt(set, {"topologyRequest", "unconstrained"});
    one.requests = RequestsOf(*pod_spec);
    one.node_selector = StringsAt(*pod_spec, {"nodeSelector"});
  }
  ReadPreemption(object, facts);
  ReadAdmission(object, facts);
  ReadPlaces(object, facts);
  for (const char* name : {"berth.dev/avoided-flavors", "berth.dev/reactive-avoided-flavors"}) {
    const std::string avoided = local::cluster::AnnotationOf(object, name);
    for (const std::string_view flavor : Split(avoided, ',')) facts.avoided.emplace(flavor);
  }
  for (const Json& check : ArrayAt(object, {"status", "admissionChecks"})) {
    facts.checks[StringAt(check, {"name"})] = StringAt(check, {"state"});
  }
  return facts;
}

JobFacts ReadJob(const Key& key, const Json& object) {
  JobFacts facts;
  facts.key = key;
  facts.uid = local::cluster::UidOf(object);
  facts.queue = local::cluster::LabelOf(object, "kueue.x-k8s.io/queue-name");
  facts.prebuilt = local::cluster::LabelOf(object, "kueue.x-k8s.io/prebuilt-workload-name");
  facts.is_elastic = local::cluster::AnnotationOf(object, kElasticJob) == "true";
  facts.suspended = BoolAt(object, {"spec", "suspend"});
  facts.stopping = local::cluster::HasAnnotation(object, "kueue.x-k8s.io/stopping");
  facts.deleting = local::cluster::IsDeleting(object);
  facts.finished = ConditionIs(object, "Complete", "True") || ConditionIs(object, "Failed", "True");
  facts.active = IntAt(object, {"status", "active"});
  facts.parallelism = IntAt(object, {"spec", "parallelism"}, 1);
  const Json* spec = Find(object, {"spec", "template", "spec"});
  const std::int64_t completions = IntAt(object, {"spec", "completions"}, -1);
  const std::int64_t left = completions - IntAt(object, {"status", "succeeded"});
  facts.most_pods = completions < 0 ? facts.parallelism : std::min(facts.parallelism, left);
  facts.shape = {
      {"parallelism", facts.parallelism},
      {"completions", completions},
      {"labels", StringsAt(object, {"spec", "template", "metadata", "labels"})},
      {"annotations", StringsAt(object, {"spec", "template", "metadata", "annotations"})},
      {"spec", spec == nullptr ? Json() : *spec}};
  // An empty field equals an absent one.
  for (const char* field : {"nodeSelector", "tolerations", "schedulingGates"}) {
    Json& pod = facts.shape["spec"];
    if (pod.is_object() && pod.contains(field) && pod[field].empty()) pod.erase(field);
  }
  facts.node_selector = StringsAt(object, {"spec", "template", "spec", "nodeSelector"});
  return facts;
}

void ReadQuotas(const Json& object, QueueFacts& facts) {
  for (const Json& group : ArrayAt(object, {"spec", "resourceGroups"})) {
    std::vector<std::string>& flavors = facts.groups.emplace_back();
    for (const Json& flavor : ArrayAt(group, {"flavors"})) {
      const std::string name = StringAt(flavor, {"name"});
      flavors.push_back(name);
      for (const Json& resource : ArrayAt(flavor, {"resources"})) {
        const std::string what = StringAt(resource, {"name"});
        support::Quota& quota = facts.quotas[{name, what}];
        if (const Json* amount = Find(resource, {"nominalQuota"})) {
          quota.nominal = AmountOf(what, *amount);
        }
        if (const Json* amount = Find(resource, {"borrowingLimit"})) {
          quota.borrowing_limit = AmountOf(what, *amount);
        }
        if (const Json* amount = Find(resource, {"lendingLimit"})) {
          quota.lending_limit = AmountOf(what, *amount);
        }
      }
    }
  }
}

QueueFacts ReadQueue(const Json& object, const char* parent_field) {
  QueueFacts facts;
  facts.name = local::cluster::NameOf(object);
  facts.parent = StringAt(object, {"spec", parent_field});
  ReadQuotas(object, facts);
  if (const Json* weight = Find(object, {"spec", "fairSharing", "weight"})) {
    facts.weight = static_cast<double>(AmountOf("cpu", *weight)) / 1000.0;  // cpu: in thousandths
  }
  facts.stopped = StringAt(object, {"spec", "stopPolicy"}, "None") != "None";
  facts.strict = StringAt(object, {"spec", "queueingStrategy"}) == "StrictFIFO";
  facts.by_usage = StringAt(object, {"spec", "admissionScope", "admissionMode"}) ==
                   "UsageBasedAdmissionFairSharing";
  for (const char* annotation : {"berth.dev/order", "berth.dev/deadlines"}) {
    facts.own_order |= !StringAt(object, {"metadata", "annotations", annotation}).empty();
  }
  PreemptionFacts& preemption = facts.preemption;
  preemption.within = StringAt(object, {"spec", "preemption", "withinClusterQueue"}, "Never");
  preemption.reclaim = StringAt(object, {"spec", "preemption", "reclaimWithinCohort"}, "Never");
  preemption.borrow_within =
      StringAt(object, {"spec", "preemption", "borrowWithinCohort", "policy"}, "Never");
  const char* const threshold = "maxPriorityThreshold";
  if (Find(object, {"spec", "preemption", "borrowWithinCohort", threshold}) != nullptr) {
    preemption.borrow_threshold =
        IntAt(object, {"spec", "preemption", "borrowWithinCohort", threshold});
  }
  facts.deleting = local::cluster::IsDeleting(object);
  facts.is_active = ConditionIs(object, "Active", "True");
  facts.namespaces = StringsAt(object, {"spec", "namespaceSelector", "matchLabels"});
  if (const Json* status = Find(object, {"status"})) facts.status = *status;
  for (const Json& rule : ArrayAt(object, {"spec", "admissionChecksStrategy", "admissionChecks"})) {
    facts.checks.insert(StringAt(rule, {"name"}));
  }
  return facts;
}

LocalQueueFacts ReadLocalQueue(const Key& key, const Json& object) {
  LocalQueueFacts facts;
  facts.key = key;
  facts.cluster_queue = StringAt(object, {"spec", "clusterQueue"});
  facts.stopped = StringAt(object, {"spec", "stopPolicy"}, "None") != "None";
  facts.deleting = local::cluster::IsDeleting(object);
  if (const Json* status = Find(object, {"status"})) facts.status = *status;
  return facts;
}

std::string OwnerUid(const Json& object) {
  const Json* owner = local::cluster::ControllerRef(object);
  return owner == nullptr ? "" : StringAt(*owner, {"uid"});
}

RequestFacts ReadRequest(const Key& key, const Json& object) {
  return {.key = key,
          .uid = local::cluster::UidOf(object),
          .owner_uid = OwnerUid(object),
          .race = local::cluster::AnnotationOf(object, "berth.dev/race"),
          .part = PartOf(object),
          .divided = IsDivided(object),
          .deleting = local::cluster::IsDeleting(object),
          .over = ConditionIs(object, "Failed", "True") ||
                  ConditionIs(object, "BookingExpired", "True") ||
                  ConditionIs(object, "CapacityRevoked", "True")};
}

PodFacts ReadPod(const Key& key, const Json& object) {
  const std::string phase = StringAt(object, {"status", "phase"});
  const Json& gates = ArrayAt(object, {"spec", "schedulingGates"});
  return {
      .key = key,
      .job_uid = OwnerUid(object),
      .held = std::any_of(gates.begin(), gates.end(),
                          [](const Json& gate) { return gate.value("name", "") == kElasticJob; }),
      .deleting = local::cluster::IsDeleting(object),
      .over = phase == "Succeeded" || phase == "Failed",
      .running = phase == "Running"};
}

template <typename K, typename T, typename F>
void Replace(std::map<K, T>& all, const K& key, const Json* object, F read) {
  if (object == nullptr) {
    all.erase(key);
  } else {
    all[key] = read(*object);
  }
}

}  // namespace

std::string Show(const Key& key) {
  return key.first.empty() ? key.second : key.first + "/" + key.second;
}

bool Truth::IsAskedForMore(const WorkloadFacts& workload) const {
  for (const std::string& resource : limit_ranges_.Resources(workload.key.first)) {
    for (const PodSetFacts& set : workload.pod_sets) {
      if (!set.requests.contains(resource)) return true;
    }
  }
  return false;
}

FlavorAmounts Truth::WithoutDefaults(const WorkloadFacts& workload, FlavorAmounts amounts) const {
  std::erase_if(amounts, [&](const auto& each) {
    return limit_ranges_.EverNamed(workload.key.first, each.first.second) &&
           !workload.granted.contains(each.first);
  });
  return amounts;
}

void Truth::See(const local::StoreEvent& event) {
  const local::ObjectKey& where = event.object->key();
  const Key key{where.namespace_name, where.name};
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  const std::string& resource = where.resource;
  const auto parse = [&] { return gone ? nullptr : event.object->json(); };
  const std::size_t group = resource.find('.');
  if (resource.compare(group == std::string::npos ? 0 : group, std::string::npos, kKueueGroup) ==
      0) {
    const local::Object object = parse();
    return SeeKueue(resource.substr(0, group), key, object.get());
  }
  if (resource == "jobs.batch") {
    const local::Object object = parse();
    Replace(jobs_, key, object.get(), [&](const Json& json) { return ReadJob(key, json); });
  } else if (resource == "nodes") {
    const local::Object object = parse();
    Replace(nodes_, key.second, object.get(), [](const Json& json) {
      return NodeFacts{StringsAt(json, {"metadata", "labels"}),
                       AmountOf("cpu", StringAt(json, {"status", "allocatable", "cpu"}))};
    });
  } else if (resource == "namespaces") {
    const local::Object object = parse();
    Replace(namespaces_, key.second, object.get(), [](const Json& json) {
      return StringsAt(json, {"metadata", "labels"});
    });
  } else if (resource == "limitranges") {
    const local::Object object = parse();
    limit_ranges_.See(key, object.get());
  } else if (resource == "pods") {
    const local::Object object = parse();
    Replace(pods_, key, object.get(), [&](const Json& json) { return ReadPod(key, json); });
  } else if (resource == "podtemplates") {
    const local::Object object = parse();
    Replace(templates_, key, object.get(), [](const Json& json) { return OwnerUid(json); });
  } else if (resource == "provisioningrequests.autoscaling.x-k8s.io") {
    const local::Object object = parse();
    Replace(requests_, key, object.get(), [&](const Json& json) { return ReadRequest(key, json); });
  }
}

void Truth::SeeKueue(const std::string& resource, const Key& key, const Json* object) {
  if (resource == "workloads") {
    Replace(workloads_, key, object, [&](const Json& json) { return ReadWorkload(key, json); });
  } else if (resource == "clusterqueues") {
    Replace(cluster_queues_, key.second, object,
            [](const Json& json) { return ReadQueue(json, "cohortName"); });
  } else if (resource == "cohorts") {
    Replace(cohorts_, key.second, object,
            [](const Json& json) { return ReadQueue(json, "parentName"); });
  } else if (resource == "localqueues") {
    Replace(local_queues_, key, object,
            [&](const Json& json) { return ReadLocalQueue(key, json); });
  } else if (resource == "resourceflavors") {
    topology_flavors_.erase(key.second);
    if (object != nullptr && !StringAt(*object, {"spec", "topologyName"}).empty()) {
      topology_flavors_.insert(key.second);
    }
    Replace(flavors_, key.second, object, [](const Json& json) {
      return StringsAt(json, {"spec", "nodeLabels"});
    });
  }
}

bool Truth::Selects(const QueueFacts& queue, const std::string& namespace_name) const {
  const auto found = namespaces_.find(namespace_name);
  return std::all_of(queue.namespaces.begin(), queue.namespaces.end(), [&](const auto& wanted) {
    if (found == namespaces_.end()) return false;
    const auto have = found->second.find(wanted.first);
    return have != found->second.end() && have->second == wanted.second;
  });
}

const QueueFacts* Truth::OpenQueueOf(const WorkloadFacts& workload) const {
  const auto local = local_queues_.find({workload.key.first, workload.queue});
  if (local == local_queues_.end() || local->second.stopped || local->second.deleting) {
    return nullptr;
  }
  const auto queue = cluster_queues_.find(local->second.cluster_queue);
  if (queue == cluster_queues_.end() || queue->second.stopped || queue->second.deleting ||
      !queue->second.is_active || !Selects(queue->second, workload.key.first)) {
    return nullptr;
  }
  return &queue->second;
}

const WorkloadFacts* Truth::Workload(const std::string& uid) const {
  for (const auto& [key, workload] : workloads_) {
    if (workload.uid == uid) return &workload;
  }
  return nullptr;
}

const WorkloadFacts* Truth::WorkloadOfJob(const std::string& job_uid) const {
  const WorkloadFacts* best = nullptr;
  const auto rank = [this](const WorkloadFacts& each) {
    if (each.finished) return 0;
    if (!each.reserved) return 1;
    return IsReplaced(each) ? 2 : 3;
  };
  for (const auto& [key, workload] : workloads_) {
    if (workload.job_uid != job_uid || !workload.growth.empty() || workload.deleting) continue;
    if (best == nullptr || rank(workload) > rank(*best)) best = &workload;
  }
  return best;
}

const WorkloadFacts* Truth::ReplacedBy(const WorkloadFacts& workload) const {
  const std::size_t slash = workload.replaces.find('/');
  if (slash == std::string::npos) return nullptr;
  const auto old =
      workloads_.find({workload.replaces.substr(0, slash), workload.replaces.substr(slash + 1)});
  const bool holds = old != workloads_.end() && old->second.reserved && !old->second.finished &&
                     old->second.job_uid == workload.job_uid;
  return holds ? &old->second : nullptr;
}

bool Truth::IsReplaced(const WorkloadFacts& workload) const {
  if (!workload.is_slice) return false;
  return std::any_of(workloads_.begin(), workloads_.end(), [&](const auto& each) {
    return each.second.reserved && !each.second.finished && ReplacedBy(each.second) == &workload;
  });
}

const JobFacts* Truth::Job(const std::string& uid) const {
  for (const auto& [key, job] : jobs_) {
    if (job.uid == uid) return &job;
  }
  return nullptr;
}

bool Truth::IsNamed(const Key& workload) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&workload](const auto& job) {
    return job.first.first == workload.first && job.second.prebuilt == workload.second;
  });
}

std::map<std::string, FlavorAmounts> Truth::Usage() const {
  std::map<std::string, FlavorAmounts> usage;
  for (const auto& [key, workload] : workloads_) {
    if (!workload.reserved || workload.finished || IsReplaced(workload)) continue;
    for (const auto& [what, amount] : workload.usage) {
      usage[workload.cluster_queue][what] += amount;
    }
  }
  return usage;
}

}  // namespace berth::sim
