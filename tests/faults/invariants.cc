#include "tests/faults/invariants.h"

#include <algorithm>

#include "api/reasons.h"
#include "base/strings.h"
#include "local/cluster/objects/fields.h"

namespace berth::sim {
namespace {

using local::Json;

// No story has a wider job, and users change parallelism while jobs run.
constexpr std::int64_t kMostPodsAtOnce = 4;

// "job-x-3f2a1-prov-2" → "job-x-3f2a1-prov"
std::string WithoutAttempt(const std::string& name) { return name.substr(0, name.rfind('-')); }

std::string Show(const FlavorAmounts& amounts) {
  std::string text;
  for (const auto& [what, amount] : amounts) {
    text +=
        (text.empty() ? "" : ", ") + what.first + "/" + what.second + "=" + std::to_string(amount);
  }
  return text;
}

template <typename T>
std::optional<T> Copy(const std::map<Key, T>& all, const Key& key) {
  const auto found = all.find(key);
  return found == all.end() ? std::nullopt : std::optional<T>(found->second);
}

// Kinds that other programs may write at any rate.
bool IsNoisy(const std::string& resource) {
  return resource.compare(0, 6, "events") == 0 || resource.compare(0, 6, "leases") == 0;
}

constexpr char kRequests[] = "provisioningrequests.autoscaling.x-k8s.io";

}  // namespace

void Invariants::Report(const std::string& rule, const std::string& text) {
  if (!violation_) violation_ = Violation{rule, text};
}

void Invariants::See(const local::StoreEvent& event, Actor actor, SteadyTime now) {
  now_ = now;
  actor_ = actor;
  if (const auto breach = order_.Settled(now)) Report(breach->rule, breach->text);
  const local::ObjectKey& where = event.object->key();
  const std::string& resource = where.resource;
  if (resource == "leases.coordination.k8s.io") SeeLease(event);
  if (IsNoisy(resource)) return;
  if (const local::Object object = event.object->json()) {
    revisions_[local::cluster::UidOf(*object)].insert(event.revision);
  }
  CountWrite(where, now);
  if (resource == "namespaces" || resource == "clusterqueues.kueue.x-k8s.io") NoteSelections();
  const Key key{where.namespace_name, where.name};
  const bool gone = event.type == local::WatchEvent::Type::kDeleted;
  if (resource == "jobs.batch") {
    const auto before = Copy(truth_.jobs(), key);
    truth_.See(event);
    if (!gone) SeeJob(before ? &*before : nullptr, truth_.jobs().at(key));
  } else if (resource == "workloads.kueue.x-k8s.io") {
    const auto before = Copy(truth_.workloads(), key);
    truth_.See(event);
    NoteUsage();
    const WorkloadFacts* old = before ? &*before : nullptr;
    const WorkloadFacts* workload = gone ? nullptr : &truth_.workloads().at(key);
    SeeWorkload(old, workload);
    if (options_.fair_sharing) CheckFairOrder(old, workload);
    order_.NoteWorkload(truth_, old, workload, now);
  } else {
    const auto request = Copy(truth_.requests(), key);
    truth_.See(event);
    // A person may delete a request whose creation was not answered: no program knows its name.
    if (resource == kRequests && gone && request && actor == Actor::kStory) {
      requests_of_[request->owner_uid].erase(key.second);
    }
    if (resource == "pods" && !gone) SeePod(truth_.pods().at(key));
    if (resource == kRequests && !gone && event.type == local::WatchEvent::Type::kAdded) {
      SeeRequest(truth_.requests().at(key));
    }
    if (resource == "nodes" && !gone) node_cpu_[key.second] = truth_.nodes().at(key.second).cpu;
    if (resource == "clusterqueues.kueue.x-k8s.io" || resource == "cohorts.kueue.x-k8s.io") {
      SeeQueues(now);
    }
    if (resource == "limitranges") order_.Restart();  // Misconfigured follows a moment later
    if (resource == "limitranges" || resource == "namespaces" ||
        resource == "clusterqueues.kueue.x-k8s.io" || resource == "cohorts.kueue.x-k8s.io" ||
        resource == "localqueues.kueue.x-k8s.io") {
      order_.NoteQueues(truth_, now);
    }
  }
}

void Invariants::SeeLease(const local::StoreEvent& event) {
  const local::Object lease = event.object->json();
  const std::string holder = local::cluster::StringAt(*lease, {"spec", "holderIdentity"});
  if (holder == lease_holder_) return;
  lease_holder_ = holder;
  ++leader_changes_;
  OnCrash();  // the new leader reads its state from the objects
}

void Invariants::OnRequest(const kube::ApiRequest& request, const std::string& identity) {
  if (request.method == "GET" || lease_holder_.empty() || identity == lease_holder_ ||
      request.path.find("/leases") != std::string::npos ||
      request.path.find("/events") != std::string::npos) {
    return;
  }
  Report("write-without-lease", identity + " sends " + request.method + " " + request.path +
                                    " while " + lease_holder_ + " holds the lease");
}

void Invariants::SeeQueues(SteadyTime now) {
  QuotaLaw law(truth_);
  FairLaw fair(truth_);
  if (law == laws_.back().law && fair == laws_.back().fair) return;
  order_.Restart();
  laws_.back().until = now;
  laws_.push_back({SteadyTime::max(), std::move(law), std::move(fair)});
  while (laws_.size() > 1 && laws_.front().until + options_.staleness < now) laws_.pop_front();
}

void Invariants::SeeJob(const JobFacts* before, const JobFacts& now) {
  const bool same = before != nullptr && before->uid == now.uid;
  if (same && actor_ == Actor::kStory) edited_[now.uid] = now_;
  if (!same || !before->suspended || now.suspended || actor_ == Actor::kStory ||
      now.queue.empty()) {
    return;
  }
  const WorkloadFacts* workload = truth_.WorkloadOfJob(now.uid);
  if (workload == nullptr) {
    // Another client deleted the Workload; the event is under way.
    const auto gone = workload_gone_.find(now.key);
    if (gone != workload_gone_.end() && gone->second + options_.staleness >= now_) return;
    return Report("job-without-admission",
                  "job " + Show(now.key) + " is started, it has no workload");
  }
  // The slice that the newest one replaces starts the job; the pods of the difference stay gated.
  const WorkloadFacts* old_slice = now.is_elastic ? truth_.ReplacedBy(*workload) : nullptr;
  if (old_slice != nullptr && old_slice->admitted && !workload->admitted) workload = old_slice;
  // The old slice was replaced while the start was under way.
  const auto replaced = replaced_.find(now.uid);
  if (now.is_elastic && workload->reserved && !workload->admitted && replaced != replaced_.end() &&
      replaced->second + options_.staleness >= now_) {
    return;
  }
  if (!workload->admitted || workload->finished) {
    return Report("job-without-admission", "job " + Show(now.key) + " is started, workload " +
                                               Show(workload->key) + " is " +
                                               (workload->finished ? "finished" : "not admitted"));
  }
  const auto edited = edited_.find(now.uid);
  const bool is_own = edited == edited_.end() || edited->second + options_.staleness < now_;
  if (is_own && !now.is_elastic && now.most_pods > workload->granted_pods) {
    return Report("started-too-wide",
                  "job " + Show(now.key) + " is started for " + std::to_string(now.most_pods) +
                      " pods, quota was given for " + std::to_string(workload->granted_pods));
  }
  if (is_own) edited_.erase(now.uid);
  for (const std::string& flavor : workload->flavors) {
    const auto labels = truth_.flavors().find(flavor);
    if (labels == truth_.flavors().end()) continue;
    for (const auto& [label, value] : labels->second) {
      const auto selected = now.node_selector.find(label);
      if (selected != now.node_selector.end() && selected->second == value) continue;
      return Report("wrong-place", "job " + Show(now.key) + " is started without " + label + "=" +
                                       value + " of its flavor " + flavor);
    }
  }
}

void Invariants::SeeWorkload(const WorkloadFacts* before, const WorkloadFacts* now) {
  const bool same = before != nullptr && now != nullptr && before->uid == now->uid;
  if (before != nullptr) CheckRelease(*before, same ? now : nullptr);
  if (same && before->priority != now->priority) reprioritised_[now->uid] = now_;
  if (same && now->is_slice) {
    NoteTakenBack(*before, *now);
    if (before->admitted && !before->finished && now->finished) replaced_[now->job_uid] = now_;
  }
  if (now != nullptr && now->preempted && !(same && before->preempted)) CheckVictim(*now);
  if (before != nullptr && (now == nullptr || now->deleting)) {
    workload_gone_[{before->key.first, before->job}] = now_;
  }
  if (now == nullptr) return;
  if (!now->deleting && !now->job_uid.empty()) {
    for (const auto& [key, other] : truth_.workloads()) {
      if (key != now->key && other.job_uid == now->job_uid && other.growth == now->growth &&
          !other.deleting && !now->is_slice) {
        Report("two-workloads", "job " + now->job + " has " + Show(key) + " and " + Show(now->key));
      }
    }
  }
  if (same && before->finished && !now->finished) {
    Report("finished-undone", "workload " + Show(now->key));
  }
  if (now->reserved && !now->finished && !(same && before->reserved)) {
    CheckReservation(*now);
    CheckOrder(*now);
  }
  if (now->reserved && !now->finished && !(same && before->stated == now->stated)) CheckUsage(*now);
  if (now->reserved && !now->finished && !(same && before->nodes == now->nodes)) CheckNodes(*now);
  if (now->admitted && !(same && before->admitted)) {
    if (!now->reserved) Report("unready-check", Show(now->key) + " is admitted without quota");
    for (const auto& [check, state] : now->checks) {
      if (state == "Ready") continue;
      // One write may admit and evict: the eviction resets checks that were ready.
      if (now->evicted && same && before->checks.count(check) > 0 &&
          before->checks.at(check) == "Ready") {
        continue;
      }
      Report("unready-check", Show(now->key) + " is admitted, check " + check + " is " + state);
    }
  }
  if (same && before->admitted && now->admitted && !now->finished &&
      (before->flavors != now->flavors || before->cluster_queue != now->cluster_queue)) {
    Report("flavors-changed", "workload " + Show(now->key));
  }
}

void Invariants::CheckUsage(const WorkloadFacts& workload) {
  if (truth_.WithoutDefaults(workload, workload.stated) == workload.granted) return;
  Report("wrong-usage", Show(workload.key) + " states " + Show(workload.stated) +
                            ", its requests × counts are " + Show(workload.granted));
}

bool Invariants::IsQuiet() const {
  return !options_.trouble_until || options_.trouble_until() + options_.order_window < now_;
}

void Invariants::CheckOrder(const WorkloadFacts& workload) {
  const auto changed = reprioritised_.find(workload.uid);
  if (!IsQuiet() || !workload.replaces.empty() ||
      (changed != reprioritised_.end() && changed->second + options_.order_window > now_)) {
    return;
  }
  order_.OnQuota(truth_, workload, now_);
}

void Invariants::CheckFairOrder(const WorkloadFacts* before, const WorkloadFacts* now) {
  if (const auto breach = fair_order_.Settled(now_)) Report(breach->rule, breach->text);
  const auto holds = [](const WorkloadFacts* facts) {
    return facts != nullptr && facts->reserved && !facts->finished;
  };
  const bool same = before != nullptr && now != nullptr && before->uid == now->uid;
  if (same && holds(before) && holds(now) && before->usage == now->usage &&
      before->cluster_queue == now->cluster_queue) {
    return;
  }
  const bool same_queues =
      laws_.size() < 2 || laws_[laws_.size() - 2].until + options_.staleness < now_;
  const bool is_given = holds(now) && !holds(before) && same_queues && IsQuiet() &&
                        now->replaces.empty() && !reprioritised_.contains(now->uid);
  if (is_given)
    fair_order_.OnQuota(truth_, {law().formulae(), laws_.back().fair, order_}, *now, now_);
  if (holds(before)) fair_order_.NoteUsage(before->cluster_queue, now_);
  if (holds(now)) fair_order_.NoteUsage(now->cluster_queue, now_);
}

void Invariants::NoteUsage() {
  usages_.emplace_back(now_, truth_.Usage());
  // Keeps the last usage from before the window: it was valid at the window's start.
  while (usages_.size() > 1 && usages_[1].first + options_.staleness < now_) usages_.pop_front();
}

// Lawful if some recent state of the queues and of their usage allows it. A deleted preemptor
// cannot be judged.
void Invariants::CheckVictim(const WorkloadFacts& victim) {
  order_.OnPreemptor(victim.preempted_for);
  const WorkloadFacts* preemptor = truth_.Workload(victim.preempted_for);
  if (preemptor == nullptr || victim.cluster_queue.empty()) return;
  for (const std::string& uid : {victim.uid, preemptor->uid}) {
    const auto changed = reprioritised_.find(uid);
    if (changed != reprioritised_.end() && changed->second + options_.staleness >= now_) return;
  }
  const auto local = truth_.local_queues().find({preemptor->key.first, preemptor->queue});
  if (local == truth_.local_queues().end()) return;
  const auto why = WhyUnlawful(*preemptor, local->second.cluster_queue, victim);
  if (!why) return;
  Report("unlawful-victim", Show(victim.key) + " is preempted (" + victim.preempted_why + ") for " +
                                Show(preemptor->key) + ": " + *why);
}

std::optional<std::string> Invariants::WhyUnlawful(const WorkloadFacts& preemptor,
                                                   const std::string& queue,
                                                   const WorkloadFacts& victim) const {
  std::optional<std::string> why;
  const FairClaim claim(truth_, preemptor, queue, usages_);
  for (const Dated& dated : laws_) {
    if (dated.until != SteadyTime::max() && dated.until + options_.staleness < now_) continue;
    for (const auto& [since, usage] : usages_) {
      why = dated.law.Unlawful(victim.preempted_why, preemptor, queue, victim, usage);
      if (!why && victim.preempted_why == api::kInCohortFairSharing) {
        why =
            dated.fair.Unfair(options_.fair_strategies, dated.law.formulae(), claim, victim, usage);
      }
      if (!why) return std::nullopt;
    }
  }
  return why;
}

// Called before the change is applied: the controllers may have decided on the present state.
void Invariants::NoteSelections() {
  for (const auto& [name, queue] : truth_.cluster_queues()) {
    for (const auto& [space, labels] : truth_.namespaces()) {
      if (truth_.Selects(queue, space)) selected_[{name, space}] = now_;
    }
  }
}

void Invariants::CheckNodes(const WorkloadFacts& workload) {
  for (const auto& [node, pods] : workload.nodes) {
    std::int64_t promised = 0;
    for (const auto& [key, other] : truth_.workloads()) {
      const auto there = other.node_cpu.find(node);
      if (!other.reserved || other.finished || there == other.node_cpu.end() ||
          truth_.IsReplaced(other)) {
        continue;
      }
      promised += there->second;
    }
    const auto has = node_cpu_.find(node);
    const std::int64_t room = has == node_cpu_.end() ? 0 : has->second;
    if (promised <= room) continue;
    Report("node-promised-twice", Show(workload.key) + " is placed on " + node + ", which has " +
                                      std::to_string(room) + " and has promised " +
                                      std::to_string(promised));
  }
}

// Whether the workload takes the place of a slice that has as much of the flavor's resource, in the
// same queue. Kueue asks for the difference alone, and a queue in debt has 0 available, not less.
bool Invariants::TakesNoMore(const WorkloadFacts& workload, const QuotaLaw::What& what,
                             std::int64_t amount) const {
  const WorkloadFacts* old = truth_.ReplacedBy(workload);
  if (old == nullptr || old->cluster_queue != workload.cluster_queue) return false;
  const auto held = old->usage.find(what);
  return held != old->usage.end() && amount <= held->second;
}

// A slice that shrinks while pods are reclaimable gets its count in one write, and takes the pods
// back in the next: between the two it uses less than its pods, in Kueue as well.
void Invariants::NoteTakenBack(const WorkloadFacts& before, const WorkloadFacts& now) {
  if (!before.reserved || !now.reserved) return;
  FlavorAmounts more;
  for (const auto& [what, amount] : now.usage) {
    const auto had = before.usage.find(what);
    if (had != before.usage.end() && amount > had->second) more[what] = amount - had->second;
  }
  if (!more.empty()) taken_back_[now.key] = {now_, std::move(more)};
}

std::map<std::string, FlavorAmounts> Invariants::UsageBeforeTakingBack() const {
  auto usage = truth_.Usage();
  for (const auto& [key, taken] : taken_back_) {
    const auto workload = truth_.workloads().find(key);
    if (workload == truth_.workloads().end() || taken.at + options_.staleness < now_) continue;
    const auto used = usage.find(workload->second.cluster_queue);
    if (used == usage.end()) continue;
    for (const auto& [what, amount] : taken.amounts) {
      std::int64_t& present = used->second[what];
      present = std::max<std::int64_t>(present - amount, 0);
    }
  }
  return usage;
}

// Lawful if some recent state of the queues has the quota. A pod set without pods takes nothing and
// may name a flavor in debt.
void Invariants::CheckReservation(const WorkloadFacts& workload) {
  const auto its_queue = truth_.cluster_queues().find(workload.cluster_queue);
  if (its_queue != truth_.cluster_queues().end() &&
      !truth_.Selects(its_queue->second, workload.key.first)) {
    const auto last = selected_.find({workload.cluster_queue, workload.key.first});
    if (last == selected_.end() || last->second + options_.staleness < now_) {
      Report("wrong-namespace", Show(workload.key) + " gets quota in " + workload.cluster_queue);
    }
  }
  const auto usage = UsageBeforeTakingBack();
  bool fits = false;
  bool open = false;
  for (const Dated& dated : laws_) {
    if (dated.until != SteadyTime::max() && dated.until + options_.staleness < now_) continue;
    open = open || (dated.law.HasQueue(workload.cluster_queue) &&
                    !dated.law.Stopped(workload.cluster_queue));
    fits = fits || std::all_of(workload.usage.begin(), workload.usage.end(), [&](const auto& one) {
             return one.second == 0 ||
                    dated.law.Available(workload.cluster_queue, one.first, usage) >= 0 ||
                    TakesNoMore(workload, one.first, one.second);
           });
  }
  if (!open) {
    Report("reserved-in-stopped", Show(workload.key) + " gets quota in " + workload.cluster_queue);
  }
  if (fits) return;
  std::string text = Show(workload.key) + " gets " + Show(workload.usage) + " in " +
                     workload.cluster_queue + "; in use then:";
  for (const auto& [queue, amounts] : usage) text += " " + queue + " {" + Show(amounts) + "}";
  Report("quota-exceeded", text);
}

void Invariants::CheckRelease(const WorkloadFacts& before, const WorkloadFacts* now) {
  if (!before.reserved || before.finished || actor_ == Actor::kStory) return;
  if (now != nullptr && (now->reserved || now->finished)) return;
  const JobFacts* job = truth_.Job(before.job_uid);
  if (job == nullptr || job->finished || job->deleting) return;
  if (!before.admitted && job->suspended) return;
  // A user started the job of a Workload that waits for its checks; the controllers may not have
  // heard of the edit.
  const auto edited = edited_.find(job->uid);
  const bool is_heard = edited == edited_.end() || edited->second + options_.staleness < now_;
  if (!before.admitted && !is_heard) return;
  const auto pods = std::count_if(truth_.pods().begin(), truth_.pods().end(), [&](const auto& pod) {
    return pod.second.job_uid == before.job_uid && !pod.second.over;
  });
  if (job->suspended && job->active == 0 && (pods == 0 || options_.time_leaps)) return;
  Report("released-while-running", "quota of " + Show(before.key) + " is given back, job " +
                                       Show(job->key) + " has " + std::to_string(pods) + " pods" +
                                       (job->suspended ? "" : " and is not suspended"));
}

void Invariants::SeeRequest(const RequestFacts& request) {
  if (!requests_of_[request.owner_uid].insert(request.key.second).second) {
    return Report("request-twice", "ProvisioningRequest " + Show(request.key) + " is made again");
  }
  for (const auto& [key, other] : truth_.requests()) {
    if (key == request.key || other.owner_uid != request.owner_uid || other.deleting ||
        other.over || WithoutAttempt(key.second) != WithoutAttempt(request.key.second)) {
      continue;
    }
    if (!request.race.empty() && request.race == other.race) continue;  // see policy_play.h
    if (request.part != other.part || (request.divided && other.divided)) continue;
    Report("request-twice", "ProvisioningRequest " + Show(request.key) + " is made while " +
                                Show(key) + " is there");
  }
}

void Invariants::SeePod(const PodFacts& pod) {
  if (pod.over || pod.deleting || pod.held) return;
  const JobFacts* job = truth_.Job(pod.job_uid);
  if (job == nullptr) return;
  std::int64_t at_work = 0;
  for (const auto& [key, other] : truth_.pods()) {
    if (other.job_uid == pod.job_uid && !other.over && !other.deleting && !other.held) {
      ++at_work;
    }
  }
  const WorkloadFacts* workload = truth_.WorkloadOfJob(pod.job_uid);
  // A job that users changed is stopped if necessary, which takes a while.
  const bool is_bound =
      workload != nullptr && workload->reserved && edited_.find(job->uid) == edited_.end();
  const std::int64_t most =
      is_bound ? workload->granted_pods : std::max<std::int64_t>(job->parallelism, kMostPodsAtOnce);
  if (at_work > most) {
    Report("too-many-pods", "job " + Show(job->key) + " has " + std::to_string(at_work) +
                                ", there may be " + std::to_string(most));
  }
}

void Invariants::CountWrite(const local::ObjectKey& key, SteadyTime now) {
  const auto minute =
      std::chrono::duration_cast<std::chrono::minutes>(now.time_since_epoch()).count();
  Rate& rate = rates_[key];
  if (rate.minute != minute) rate = {minute, 0};
  if (++rate.writes > options_.writes_per_minute) {
    Report("hot-loop", key.resource + " " + key.namespace_name + "/" + key.name + " is written " +
                           std::to_string(rate.writes) + " times in a minute");
  }
}

void Invariants::ExpectNoWriteSince(std::int64_t requests) {
  if (write_requests_ == requests) return;
  Report("needless-write", std::to_string(write_requests_ - requests) +
                               " write requests at rest, the last " + last_write_request_);
}

void Invariants::OnAnswer(const kube::ApiRequest& request, const kube::ApiResponse& response) {
  // Beside the lease, and events: a fresh process tells once of what still cannot be done.
  if (request.method != "GET" && request.path.find("/leases/") == std::string::npos &&
      request.path.find("/events") == std::string::npos) {
    ++write_requests_;
    last_write_request_ = request.method + " " + request.path;
  }
  if (request.method == "GET" || response.status >= 300 || response.body == nullptr ||
      !response.body->is_object()) {
    return;
  }
  const Json& object = *response.body;
  const std::string kind = local::cluster::StringAt(object, {"kind"});
  if (kind == "Status" || kind == "Event" || kind == "Lease") return;
  const std::string uid = local::cluster::UidOf(object);
  const auto states = revisions_.find(uid);
  const std::int64_t revision = local::cluster::ResourceVersionOf(object);
  if (uid.empty() || revision == 0) return;
  if (states != revisions_.end() && states->second.count(revision) > 0) return;
  Report("lost-write", request.method + " " + request.path + " was acknowledged at revision " +
                           std::to_string(revision) + ", which there never was");
}

}  // namespace berth::sim
