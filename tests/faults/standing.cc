#include "tests/faults/standing.h"

#include <algorithm>
#include <array>

#include "api/quantity.h"
#include "local/cluster/objects/fields.h"

namespace berth::sim {
namespace {

using local::Json;
using local::cluster::ArrayAt;
using local::cluster::IntAt;
using local::cluster::StringAt;

// status.flavorsUsage or flavorsReservation without zeros.
FlavorAmounts AmountsOf(const Json& status, const char* field) {
  FlavorAmounts amounts;
  for (const Json& flavor : ArrayAt(status, {field})) {
    for (const Json& resource : ArrayAt(flavor, {"resources"})) {
      const std::string name = StringAt(resource, {"name"});
      const Json* total = local::cluster::Find(resource, {"total"});
      if (total == nullptr) continue;
      const auto amount =
          api::ParseAmount(name, total->is_string() ? total->get<std::string>() : total->dump());
      if (amount && *amount != 0) amounts[{StringAt(flavor, {"name"}), name}] = *amount;
    }
  }
  return amounts;
}

std::string ShowOrNothing(const FlavorAmounts& amounts) {
  std::string text;
  for (const auto& [what, amount] : amounts) {
    text += " " + what.first + "/" + what.second + "=" + std::to_string(amount);
  }
  return text.empty() ? " nothing" : text;
}

// Without zeros, and without flavors outside the queue's quota: status cannot show them.
FlavorAmounts Shown(const FlavorAmounts& amounts, const QueueFacts& queue) {
  FlavorAmounts shown;
  for (const auto& [what, amount] : amounts) {
    if (amount != 0 && queue.quotas.count(what) > 0) shown[what] = amount;
  }
  return shown;
}

struct Counts {
  std::int64_t pending = 0;
  std::int64_t reserving = 0;
  std::int64_t admitted = 0;
  FlavorAmounts reservation;
  FlavorAmounts usage;
};

void Count(const WorkloadFacts& workload, Counts& counts) {
  if (workload.finished) return;
  if (!workload.reserved) {
    if (workload.active && !workload.deleting) ++counts.pending;
    return;
  }
  ++counts.reserving;
  for (const auto& [what, amount] : workload.usage) counts.reservation[what] += amount;
  if (!workload.admitted) return;
  ++counts.admitted;
  for (const auto& [what, amount] : workload.usage) counts.usage[what] += amount;
}

constexpr std::array kShapeFields{"parallelism", "completions", "labels", "annotations", "spec"};

}  // namespace

void Standing::OnJobMade(const JobFacts& job) { originals_[job.uid] = job.shape; }

void Standing::OnJobEdited(const JobFacts& before, const JobFacts& now) {
  const auto original = originals_.find(now.uid);
  if (original == originals_.end()) return;
  const WorkloadFacts* workload = truth().WorkloadOfJob(now.uid);
  const bool is_admitted = workload != nullptr && workload->admitted;
  for (const char* field : kShapeFields) {
    if (before.shape[field] == now.shape[field]) continue;
    const bool is_size =
        field == std::string_view("parallelism") || field == std::string_view("completions");
    // A Workload does not store labels and annotations that were added later, and a prebuilt one
    // has its own; a stop restores the stored ones.
    const bool is_told =
        (workload == nullptr && now.prebuilt.empty()) ||
        (field != std::string_view("labels") && field != std::string_view("annotations"));
    // For a running job it is undefined whether an edit counts for the next start too; also for a
    // job whose template is not restored since its stop. The template of an admitted Workload's job
    // is not compared, and the next stop restores what the Workload says, its size too, as in
    // Kueue.
    const bool counts = before.suspended && !is_admitted &&
                        (is_size || before.shape[field] == original->second[field]);
    original->second[field] = counts && is_told ? now.shape[field] : Json();
    if (!is_size) edits_[now.uid][field] = invariants_.now();
  }
}

// A Workload may be made, and admitted, by a controller that has not heard of a young edit. Labels
// and annotations of a waiting Workload's template are not compared with the job's.
void Standing::OnWorkload(const WorkloadFacts& workload) {
  const auto edits = edits_.find(workload.job_uid);
  if (edits == edits_.end()) return;
  for (const auto& [field, at] : edits->second) {
    if (at + invariants_.staleness() < invariants_.now()) continue;
    const bool is_compared = field != "labels" && field != "annotations";
    if (workload.admitted || !is_compared) originals_[workload.job_uid][field] = Json();
  }
  if (workload.admitted) edits_.erase(edits);
}

void Standing::Wrong(const std::string& rule, const std::string& about, const std::string& text) {
  seen_[{rule, about}] = text;
}

void Standing::LookAtEverything(const admission::Scheduler* core) {
  seen_.clear();
  LookAtJobs();
  LookAtLeaks();
  LookAtWaiting();
  LookAtCounts();
  if (core != nullptr) LookAtCore(*core);
}

void Standing::LookAtRest(const admission::Scheduler& core) {
  LookAtEverything(&core);
  LookAtReasons();
  for (const auto& [what, text] : seen_) {
    invariants_.Report(what.first, what.second + ": " + text + " (at rest)");
  }
}

void Standing::Look(Duration healthy, const admission::Scheduler* core) {
  LookAtEverything(core);
  Blame(healthy);
}

void Standing::LookAgain(Duration healthy) { Blame(healthy); }

void Standing::Blame(Duration healthy) {
  for (auto it = troubles_.begin(); it != troubles_.end();) {
    it = seen_.count(it->first) == 0 ? troubles_.erase(it) : std::next(it);
  }
  for (const auto& [what, text] : seen_) {
    Trouble& trouble = troubles_[what];
    trouble.lasted += healthy;
    trouble.text = text;
    if (trouble.lasted > options_.patience)
      invariants_.Report(what.first, what.second + ": " + text);
  }
}

void Standing::LookAtJobs() {
  for (const auto& [key, job] : truth().jobs()) {
    if (job.queue.empty() || job.deleting) continue;
    const WorkloadFacts* workload = truth().WorkloadOfJob(job.uid);
    const bool admitted = workload != nullptr && workload->admitted;
    if (!job.finished && !admitted && (!job.suspended || job.active > 0)) {
      Wrong("runs-unadmitted", Show(key), std::to_string(job.active) + " pods, no admission");
    }
    if (job.finished && workload != nullptr && !workload->finished) {
      Wrong("not-finished", Show(key), "the job is, its workload is not");
    }
    const auto original = originals_.find(job.uid);
    if (!job.suspended || job.finished || original == originals_.end()) continue;
    // The record of its prebuilt Workload is gone with that Workload; the job of a Workload that
    // ended out of sync is not restored, as in Kueue.
    if (!job.prebuilt.empty() && (workload == nullptr || workload->finished)) continue;
    Json wanted = original->second;
    Json shape = job.shape;
    for (const char* field : kShapeFields) {
      if (wanted[field].is_null()) shape[field] = nullptr;
    }
    // A start and a stop with partial admission write the number of pods: no more than completions.
    for (Json* each : {&wanted, &shape}) {
      if ((*each)["parallelism"].is_number() && (*each)["completions"].is_number()) {
        (*each)["parallelism"] =
            std::min((*each)["parallelism"].get<int>(), (*each)["completions"].get<int>());
      }
    }
    if (shape != wanted || job.stopping) {
      Wrong("template-changed", Show(key), shape.dump() + " instead of " + wanted.dump());
    }
  }
}

void Standing::LookAtLeaks() {
  std::map<std::string, const WorkloadFacts*> by_uid;
  for (const auto& [key, workload] : truth().workloads()) by_uid[workload.uid] = &workload;
  std::map<std::string, std::string> owner_of_request;
  const auto is_needed = [&](const std::string& uid) {
    const auto found = by_uid.find(uid);
    return found != by_uid.end() && found->second->reserved && !found->second->finished;
  };
  for (const auto& [key, request] : truth().requests()) {
    owner_of_request[request.uid] = request.owner_uid;
    if (!is_needed(request.owner_uid)) Wrong("leaked", Show(key), "ProvisioningRequest");
  }
  for (const auto& [key, owner] : truth().templates()) {
    const auto request = owner_of_request.find(owner);
    const std::string& workload = request == owner_of_request.end() ? owner : request->second;
    if (!is_needed(workload)) Wrong("leaked", Show(key), "PodTemplate");
  }
}

bool Standing::IsWaiting(const WorkloadFacts& workload) const {
  return workload.active && !workload.deleting && !workload.reserved && !workload.finished &&
         !workload.held_back;
}

// Whether some flavor of the queue has room for all pods.
bool Standing::Fits(const WorkloadFacts& workload, const Usage& usage) const {
  const QueueFacts* queue = truth().OpenQueueOf(workload);
  if (queue == nullptr || queue->groups.empty()) return false;
  const std::vector<std::string>& flavors = queue->groups.front();
  const WorkloadFacts* old = truth().ReplacedBy(workload);
  if (old == nullptr || usage.empty()) {
    return std::any_of(flavors.begin(), flavors.end(), [&](const std::string& flavor) {
      return FitsInto(flavor, *queue, workload, usage) && FitsOnNodes(flavor, workload, usage);
    });
  }
  // A larger slice takes the place of its predecessor, in the same flavors.
  Usage without = usage;
  for (const auto& [what, amount] : old->usage) without[old->cluster_queue][what] -= amount;
  return queue->name == old->cluster_queue &&
         std::all_of(old->flavors.begin(), old->flavors.end(), [&](const std::string& flavor) {
           return FitsInto(flavor, *queue, workload, without) &&
                  FitsOnNodes(flavor, workload, without);
         });
}

bool Standing::FitsInto(const std::string& flavor, const QueueFacts& queue,
                        const WorkloadFacts& workload, const Usage& usage) const {
  const auto labels = truth().flavors().find(flavor);
  if (labels == truth().flavors().end() || workload.avoided.contains(flavor)) return false;
  bool fits = true;
  std::map<std::string, std::int64_t> needed;
  for (const PodSetFacts& set : workload.pod_sets) {
    for (const auto& [resource, amount] : set.requests) needed[resource] += amount * set.count;
    for (const auto& [label, value] : set.node_selector) {
      const auto have = labels->second.find(label);
      fits = fits && (have == labels->second.end() || have->second == value);
    }
  }
  for (const auto& [resource, amount] : needed) {
    const QuotaLaw::What what{flavor, resource};
    fits = fits && queue.quotas.count(what) > 0 &&
           invariants_.law().Available(queue.name, what, usage) >= amount;
  }
  return fits;
}

// If the flavor has a topology: whether the workload fits empty nodes; beside other workloads only
// placement can judge.
bool Standing::FitsOnNodes(const std::string& flavor, const WorkloadFacts& workload,
                           const Usage& usage) const {
  if (truth().topology_flavors().count(flavor) == 0) {
    return std::none_of(workload.pod_sets.begin(), workload.pod_sets.end(),
                        [](const PodSetFacts& set) { return set.asks_topology; });
  }
  for (const auto& [queue, amounts] : usage) {
    for (const auto& [what, amount] : amounts) {
      if (what.first == flavor && amount > 0) return false;
    }
  }
  const auto& wanted = truth().flavors().at(flavor);
  return std::all_of(
      workload.pod_sets.begin(), workload.pod_sets.end(), [&](const PodSetFacts& set) {
        const auto cpu = set.requests.find("cpu");
        const std::int64_t each = cpu == set.requests.end() ? 0 : cpu->second;
        std::map<std::string, std::int64_t> room;  // by domain of the required level
        for (const auto& [name, node] : truth().nodes()) {
          const auto has = [&node = node](const auto& label) {
            const auto have = node.labels.find(label.first);
            return have != node.labels.end() && have->second == label.second;
          };
          if (!std::all_of(wanted.begin(), wanted.end(), has) ||
              !std::all_of(set.node_selector.begin(), set.node_selector.end(), has)) {
            continue;
          }
          const auto domain = node.labels.find(set.required_level);
          room[domain == node.labels.end() ? "" : domain->second] +=
              each == 0 ? set.count : node.cpu / each;
        }
        return std::any_of(room.begin(), room.end(),
                           [&](const auto& domain) { return domain.second >= set.count; });
      });
}

bool Standing::CouldEverRun(const WorkloadFacts& workload) const {
  WorkloadFacts later = workload;
  later.avoided.clear();  // a policy passes over flavors for a while
  return Fits(later, {});
}

// Strict queues never pass their head, and heads that wait for victims keep quota: there the rule
// applies only if every workload of the queue fits.
void Standing::LookAtWaiting() {
  const Usage usage = truth().Usage();
  for (const auto& [key, workload] : truth().workloads()) {
    const bool not_ready = workload.reserved && !workload.finished && !workload.pods_ready;
    if (options_.blocks_admission && not_ready) return;
  }
  std::map<std::string, std::vector<const WorkloadFacts*>> waiting;
  bool strict = false;
  for (const auto& [key, workload] : truth().workloads()) {
    const QueueFacts* queue = truth().OpenQueueOf(workload);
    if (queue == nullptr || !IsWaiting(workload)) continue;
    waiting[queue->name].push_back(&workload);
    strict = strict || queue->strict;
  }
  bool all_fit = true;
  for (const auto& [name, workloads] : waiting) {
    for (const WorkloadFacts* workload : workloads) all_fit = all_fit && Fits(*workload, usage);
  }
  if (strict && !all_fit) return;
  for (const auto& [name, workloads] : waiting) {
    for (const WorkloadFacts* workload : workloads) {
      if (Fits(*workload, usage)) {
        Wrong("waits-for-nothing", Show(workload->key), "queue " + name + " has room for it");
      }
    }
  }
}

void Standing::LookAtReasons() {
  static const std::set<std::string> kRefusals = {"ExceedsMaxQuota", "NoMatchingFlavor",
                                                  "WaitingForQuota"};
  for (const auto& [key, workload] : truth().workloads()) {
    if (!IsWaiting(workload)) continue;
    if (workload.pending_reason.empty()) Wrong("unexplained", Show(key), "it has no reason");
    if (kRefusals.contains(workload.pending_reason) && !workload.explained) {
      Wrong("unexplained", Show(key), "its refusal has no explanation");
    }
  }
}

void Standing::LookAtCounts() {
  std::map<std::string, Counts> queues;
  std::map<Key, Counts> locals;
  for (const auto& [key, workload] : truth().workloads()) {
    const Key local_key{key.first, workload.queue};
    const auto local = truth().local_queues().find(local_key);
    Count(workload, locals[local_key]);
    if (workload.reserved) {
      Count(workload, queues[workload.cluster_queue]);
    } else if (local != truth().local_queues().end() && !local->second.stopped) {
      Count(workload, queues[local->second.cluster_queue]);
    }
  }
  const auto compare = [this](const std::string& name, const Json& status, const Counts& counts,
                              const QueueFacts& queue) {
    const auto number = [&](const char* field, std::int64_t truth_says) {
      const std::int64_t said = IntAt(status, {field});
      if (said == truth_says) return;
      Wrong("wrong-count", name + " " + field,
            "says " + std::to_string(said) + ", there are " + std::to_string(truth_says));
    };
    const auto amounts = [&](const char* field, const FlavorAmounts& truth_says) {
      const FlavorAmounts said = AmountsOf(status, field);
      const FlavorAmounts wanted = Shown(truth_says, queue);
      if (said == wanted) return;
      Wrong("wrong-count", name + " " + field,
            "says" + ShowOrNothing(said) + ", truth is" + ShowOrNothing(wanted));
    };
    number("pendingWorkloads", counts.pending);
    number("reservingWorkloads", counts.reserving);
    number("admittedWorkloads", counts.admitted);
    amounts("flavorsReservation", counts.reservation);
    amounts("flavorsUsage", counts.usage);
  };
  for (const auto& [name, queue] : truth().cluster_queues()) {
    if (!queue.deleting) compare("ClusterQueue " + name, queue.status, queues[name], queue);
  }
  for (const auto& [key, local] : truth().local_queues()) {
    const auto queue = truth().cluster_queues().find(local.cluster_queue);
    if (queue == truth().cluster_queues().end() || queue->second.deleting || local.deleting) {
      continue;
    }
    compare("LocalQueue " + Show(key), local.status, locals[key], queue->second);
  }
}

void Standing::LookAtCore(const admission::Scheduler& core) {
  const Usage usage = truth().Usage();
  const admission::ClusterState& state = core.state();
  for (const admission::ClusterQueueId id : state.cluster_queues().Present()) {
    const admission::QueueState& queue = state.queue(id);
    FlavorAmounts counted;
    for (const admission::ListedReservation& entry : state.reservations().Of(id)) {
      for (const admission::FlavorResourceAmount& each : entry.reservation->usage) {
        const admission::Vocabulary& words = core.state().vocabulary();
        counted[{words.flavors[words.flavor_resources.FlavorOf(each.flavor_resource)],
                 words.resources[words.flavor_resources.ResourceOf(each.flavor_resource)]}] +=
            each.amount;
      }
    }
    FlavorAmounts truly;
    if (const auto own = usage.find(queue.name); own != usage.end()) truly = own->second;
    std::erase_if(counted, [](const auto& each) { return each.second == 0; });
    std::erase_if(truly, [](const auto& each) { return each.second == 0; });
    if (counted != truly) {
      Wrong("core-differs", "ClusterQueue " + queue.name,
            "the core holds" + ShowOrNothing(counted) + ", the objects say" + ShowOrNothing(truly));
    }
  }
}

std::vector<Key> JobsWithoutNodes(const Truth& truth) {
  std::vector<Key> waiting;
  for (const auto& [key, pod] : truth.pods()) {
    const JobFacts* job = pod.over || pod.running ? nullptr : truth.Job(pod.job_uid);
    if (job != nullptr && !job->suspended && !job->finished) waiting.push_back(job->key);
  }
  return waiting;
}

}  // namespace berth::sim
