#include "admission/flavor_assigner.h"

#include <algorithm>
#include <limits>

#include "api/labels.h"
#include "base/assert.h"

namespace berth::admission {
namespace {

Amount AmountOf(const Usage& usage, FlavorResourceId fr) {
  for (const FlavorResourceAmount& item : usage) {
    if (item.flavor_resource == fr) return item.amount;
  }
  return 0;
}

// FNV-1a.
std::uint64_t HashOf(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

void AddTo(Usage& usage, FlavorResourceId fr, Amount amount) {
  for (FlavorResourceAmount& item : usage) {
    if (item.flavor_resource == fr) {
      item.amount = api::AddAmounts(item.amount, amount);
      return;
    }
  }
  usage.push_back({fr, amount});
}

}  // namespace

FlavorAssigner::FlavorAssigner(const Context& context, const queue::WorkloadInfo& workload,
                               ClusterQueueId queue, const ScanState* scan,
                               const Assignment* nominated, PreemptionOracle& oracle)
    : context_(context),
      workload_(workload),
      queue_(context.state.queue(queue)),
      scan_(context.gates.flavor_fungibility ? scan : nullptr),
      nominated_(nominated),
      oracle_(oracle),
      pods_(context.state.pods()),
      gpus_(context.state.gpus()),
      places_everything_(context.topologies && context.state.PlacesEverything(queue_)) {}

FlavorAssigner::PodSetGroups FlavorAssigner::MakeGroups(
    Assignment& assignment, const std::vector<std::int32_t>& counts) const {
  const queue::Names& names = context_.state.vocabulary().resources;
  const bool charge_pods = pods_ >= 0 && queue_.GroupOf(pods_) != nullptr;
  const bool charge_gpus = queue_.GroupOf(gpus_) != nullptr;
  PodSetGroups groups;
  SmallVector<const std::string*, 1> group_names;
  for (std::size_t i = 0; i < workload_.pod_sets.size(); ++i) {
    const queue::PodSetInfo& info = workload_.pod_sets[i];
    PodSetDecision& decision = assignment.pod_sets.emplace_back();
    decision.name = info.name;
    // If all pods are reclaimed, there is no count to reduce.
    decision.count = counts.empty() || info.count == 0 ? info.count : counts[i];
    decision.requests.reserve(info.per_pod.size() + (charge_pods ? 1 : 0));
    bool pods_added = !charge_pods;
    for (const ResourceRequest& request : info.per_pod) {
      if (context_.ignore_undeclared && queue_.GroupOf(request.resource) == nullptr) continue;
      if (!pods_added && names[request.resource] > names[pods_]) {
        decision.requests.push_back({pods_, decision.count});
        pods_added = true;
      }
      decision.requests.push_back(
          {request.resource, api::MultiplyAmounts(request.amount, decision.count)});
    }
    if (!pods_added) decision.requests.push_back({pods_, decision.count});
    if (charge_gpus) AddGpus(decision.requests);

    const std::string* group_name = nullptr;
    if (info.topology_request) {
      const auto& name = workload_.object->spec.pod_sets[i].topology_request->pod_set_group_name;
      if (name) group_name = &*name;
    }
    std::size_t target = groups.size();
    for (std::size_t g = 0; group_name != nullptr && g < groups.size(); ++g) {
      if (group_names[g] != nullptr && *group_names[g] == *group_name) target = g;
    }
    if (target == groups.size()) {
      groups.emplace_back();
      group_names.push_back(group_name);
    }
    groups[target].pod_sets.push_back(i);
    if (groups[target].requests.empty()) {
      groups[target].requests = decision.requests;
      continue;
    }
    for (const ResourceRequest& request : decision.requests) {
      auto& sum = groups[target].requests;
      const auto place = std::lower_bound(
          sum.begin(), sum.end(), request,
          [&names](const auto& a, const auto& b) { return names[a.resource] < names[b.resource]; });
      if (place != sum.end() && place->resource == request.resource) {
        place->amount = api::AddAmounts(place->amount, request.amount);
      } else {
        sum.insert(place, request);
      }
    }
  }
  return groups;
}

void FlavorAssigner::Assign(const std::vector<std::int32_t>& counts, Assignment& assignment) {
  assignment.Clear();
  assignment.pod_sets.reserve(workload_.pod_sets.size());
  const PodSetGroups groups = MakeGroups(assignment, counts);
  assignment.scan.changes_seen = context_.state.changes();
  assignment.scan.begun_at = scan_ == nullptr ? assignment.scan.changes_seen : scan_->begun_at;
  assignment.scan.attempts = scan_ == nullptr ? 1 : scan_->attempts + 1;
  assignment.scan.cycle = context_.cycle;
  assignment.scan.shape = workload_.shape;
  SmallVector<std::uint8_t, 8> assigned;
  assigned.resize(assignment.pod_sets.size());
  for (const PodSetGroup& group : groups) {
    for (const std::size_t pod_set : group.pod_sets) assigned[pod_set] = 1;
    if (!AssignGroup(group, assignment)) break;
  }
  // Pod sets after the first failure were not tried.
  std::size_t kept = 0;
  for (std::size_t i = 0; i < assignment.pod_sets.size(); ++i) {
    if (assigned[i] == 0) continue;
    if (kept != i) assignment.pod_sets[kept] = std::move(assignment.pod_sets[i]);
    ++kept;
  }
  assignment.pod_sets.resize(kept);
  Finish(assignment);
  if (assignment.mode != AssignmentMode::kNoFit && MayBePlaced()) {
    if (slice_ != nullptr) KeepTopologies(assignment);
    PlaceByTopology(context_.state, queue_, *workload_.object, assignment);
  }
  ResolveNoFitReason(assignment);
}

void FlavorAssigner::KeepTopologies(Assignment& assignment) const {
  for (PodSetDecision& pod_set : assignment.pod_sets) {
    for (const api::PodSetAssignment& before : slice_->status.admission->pod_set_assignments) {
      if (before.name == pod_set.name && before.topology_assignment && pod_set.count > 0) {
        KeepTopology(*before.topology_assignment, pod_set);
      }
    }
  }
}

// Answered from the compiled pod sets; reading the object would miss the cache.
bool FlavorAssigner::MayBePlaced() const {
  return context_.topologies && (places_everything_ || workload_.HasTopologyRequest());
}

// The order of resources decides which reason is reported where several resources do not fit.
// Kueue's order (pkg/resources, SliceRequests): by the hash of the name.
FlavorAssigner::ResourceOrder FlavorAssigner::OrderOfResources(
    const queue::Requests& requests) const {
  const queue::Names& names = context_.state.vocabulary().resources;
  ResourceOrder order;
  if (requests.size() < 2) {
    order.resize(requests.size());
    return order;
  }
  SmallVector<std::uint64_t, 4> hashes;
  order.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    order.push_back(i);
    hashes.push_back(HashOf(names[requests[i].resource]));
  }
  std::sort(order.begin(), order.end(),
            [&hashes](std::size_t a, std::size_t b) { return hashes[a] < hashes[b]; });
  return order;
}

bool FlavorAssigner::AssignGroup(const PodSetGroup& group, Assignment& assignment) {
  FlavorChoices choices;
  Obstacles obstacles;
  FlavorAttempts attempts;
  for (const std::size_t index : OrderOfResources(group.requests)) {
    const ResourceRequest& request = group.requests[index];
    const CompiledGroup* resources = queue_.GroupOf(request.resource);
    if (resources == nullptr && request.amount == 0) continue;
    const bool chosen = std::any_of(choices.begin(), choices.end(), [&](const FlavorChoice& c) {
      return c.resource == request.resource;
    });
    if (chosen) continue;
    FlavorScan flavor_scan;
    if (resources == nullptr) {
      Obstacle unavailable;
      unavailable.kind = Obstacle::Kind::kResourceUnavailable;
      unavailable.resource = request.resource;
      flavor_scan.obstacles.push_back(std::move(unavailable));
    } else {
      FindFlavor(group, *resources, request.resource, assignment.usage, flavor_scan);
      MergeAttempts(attempts, flavor_scan, *resources);
    }
    const bool failed = flavor_scan.best.empty();
    // After a flavor that fits, no other flavor's obstacles are reported; after a failure all are.
    const bool silent = flavor_scan.found && flavor_scan.best_mode.rating == Rating::kFit;
    for (Obstacle& obstacle : obstacles) obstacle.in_message = obstacle.in_message && !failed;
    for (Obstacle& obstacle : flavor_scan.obstacles) {
      obstacle.in_message = !silent;
      obstacles.push_back(std::move(obstacle));
    }
    if (failed) {
      choices.clear();
      break;
    }
    choices.insert(choices.end(), flavor_scan.best.begin(), flavor_scan.best.end());
  }
  if (attempts.size() > 1) {
    std::sort(attempts.begin(), attempts.end(), [this](const auto& a, const auto& b) {
      const queue::Names& flavors = context_.state.vocabulary().flavors;
      return flavors[a.flavor] < flavors[b.flavor];
    });
  }
  GiveOut(group, choices, assignment);
  bool all_assigned = true;
  for (const std::size_t index : group.pod_sets) {
    const PodSetDecision& decision = assignment.pod_sets[index];
    if (!decision.requests.empty() && decision.flavors.empty()) all_assigned = false;
    if (index == group.pod_sets.back()) break;  // most groups have one pod set: moved below
    assignment.pod_sets[index].obstacles = obstacles;
    assignment.pod_sets[index].attempts = attempts;
  }
  PodSetDecision& last = assignment.pod_sets[group.pod_sets.back()];
  last.obstacles = std::move(obstacles);
  last.attempts = std::move(attempts);
  return all_assigned;
}

// Gives each pod set of the group the flavors of its requested resources.
void FlavorAssigner::GiveOut(const PodSetGroup& group, const FlavorChoices& choices,
                             Assignment& assignment) {
  for (const std::size_t index : group.pod_sets) {
    PodSetDecision& decision = assignment.pod_sets[index];
    for (ResourceRequest& request : decision.requests) {
      for (const FlavorChoice& choice : choices) {
        if (choice.resource != request.resource) continue;
        if (request.resource == gpus_) {
          // The API takes multiples of the number of pods.
          request.amount = AmountIn(choice.flavor, request, decision.requests);
          request.amount -= request.amount % std::max(decision.count, 1);
        }
        decision.flavors.push_back(choice);
        assignment.borrow_height = std::max(assignment.borrow_height, choice.borrow_height);
        AddTo(assignment.usage, choice.flavor_resource,
              api::SubtractAmounts(request.amount, ReplacedAmount(index, request.resource)));
        assignment.scan.positions.push_back(
            {static_cast<std::int32_t>(index), choice.resource, choice.tried_index});
      }
    }
    // A leader without requests gets its workers' flavors.
    for (const FlavorChoice& choice : choices) {
      if (group.pod_sets.size() == 1 || !decision.requests.empty()) break;
      if (context_.state.placer().HasTopology(choice.flavor)) decision.flavors.push_back(choice);
    }
  }
}

void FlavorAssigner::FindFlavor(const PodSetGroup& group, const CompiledGroup& resources,
                                ResourceId resource, const Usage& assumed,
                                FlavorScan& flavor_scan) {
  flavor_scan.best_mode = {Rating::kNoFit, std::numeric_limits<std::int32_t>::max()};
  std::int32_t attempted = -1;
  const std::int32_t first =
      scan_ == nullptr
          ? 0
          : scan_->NextToTry(static_cast<std::int32_t>(group.pod_sets.front()), resource);
  const auto count = static_cast<std::int32_t>(resources.flavors.size());
  for (std::int32_t index = first; index < count; ++index) {
    attempted = index;
    const FlavorId flavor = resources.flavors[static_cast<std::size_t>(index)];
    if (nominated_ != nullptr && !IsNominated(group, flavor, resource)) {
      Obstacle other;
      other.kind = Obstacle::Kind::kNotNominated;
      other.resource = resource;
      other.flavor = flavor;
      flavor_scan.obstacles.push_back(std::move(other));
      continue;
    }
    if (std::optional<Obstacle> obstacle = CheckFlavor(group, resources, flavor)) {
      flavor_scan.obstacles.push_back(*std::move(obstacle));
      flavor_scan.attempts.push_back(
          {flavor, AssignmentMode::kNoFit, std::nullopt, 0, NoFitReason::kNoMatchingFlavor});
      continue;
    }
    FlavorChoices choices;
    const Mode mode =
        TryFlavor(group, resources, static_cast<std::size_t>(index), assumed, flavor_scan, choices);
    if (!context_.gates.flavor_fungibility) {
      if (mode.rating <= flavor_scan.best_mode.rating) continue;
      flavor_scan.best = std::move(choices);
      flavor_scan.best_mode = mode;
      flavor_scan.found = true;
      if (mode.rating == Rating::kFit) return;
      continue;
    }
    const bool stop = !TryNext(mode);
    if (stop || Preferred(mode, flavor_scan.best_mode)) {
      flavor_scan.best = std::move(choices);
      flavor_scan.best_mode = mode;
      flavor_scan.found = true;
    }
    if (stop) break;
  }
  if (context_.gates.flavor_fungibility) {
    for (FlavorChoice& choice : flavor_scan.best) {
      choice.tried_index = attempted == count - 1 ? -1 : attempted;
    }
  }
}

FlavorAssigner::Mode FlavorAssigner::TryFlavor(const PodSetGroup& group,
                                               const CompiledGroup& resources, std::size_t index,
                                               const Usage& assumed, FlavorScan& flavor_scan,
                                               FlavorChoices& choices) {
  const FlavorId flavor = resources.flavors[index];
  Mode worst;
  FlavorAttempt attempt;
  attempt.flavor = flavor;
  if (std::optional<Obstacle> other = DiffersFromSlice(group, resources, flavor)) {
    flavor_scan.obstacles.push_back(*std::move(other));
    attempt.no_fit_reason = NoFitReason::kNoMatchingFlavor;
    flavor_scan.attempts.push_back(attempt);
    return {Rating::kNoFit, 0};
  }
  for (const ResourceRequest& request : group.requests) {
    const FlavorResourceId fr = resources.Find(index, request.resource);
    if (fr < 0) continue;  // another resource group has it
    Amount asked = AmountIn(flavor, request, group.requests);
    for (const std::size_t pod_set : group.pod_sets) {
      asked = api::SubtractAmounts(asked, ReplacedAmount(pod_set, request.resource));
    }
    const QuotaAnswer answer = AskQuota(
        {fr, request.resource, flavor, AmountOf(assumed, fr), asked}, flavor_scan.obstacles);
    attempt.no_fit_reason = std::max(attempt.no_fit_reason, answer.no_fit_reason);
    attempt.borrow_height = std::max(attempt.borrow_height, answer.mode.borrow_height);
    if (Preferred(worst, answer.mode)) worst = answer.mode;
    if (worst.rating == Rating::kNoFit) continue;
    FlavorChoice& choice = choices.emplace_back();
    choice.resource = request.resource;
    choice.flavor = flavor;
    choice.flavor_resource = fr;
    choice.mode =
        answer.mode.rating == Rating::kFit ? AssignmentMode::kFit : AssignmentMode::kPreempt;
    choice.borrow_height = answer.mode.borrow_height;
  }
  switch (worst.rating) {
    case Rating::kNoFit: attempt.mode = AssignmentMode::kNoFit; break;
    case Rating::kFit: attempt.mode = AssignmentMode::kFit; break;
    case Rating::kNoCandidates:
      attempt.preemption = PreemptionPossibility::kNoCandidates;
      attempt.mode = AssignmentMode::kPreempt;
      break;
    case Rating::kPreempt:
      attempt.preemption = PreemptionPossibility::kPreempt;
      attempt.mode = AssignmentMode::kPreempt;
      break;
    case Rating::kReclaim:
      attempt.preemption = PreemptionPossibility::kReclaim;
      attempt.mode = AssignmentMode::kPreempt;
      break;
  }
  flavor_scan.attempts.push_back(attempt);
  return worst;
}

std::optional<Obstacle> FlavorAssigner::CheckFlavor(const PodSetGroup& group,
                                                    const CompiledGroup& resources,
                                                    FlavorId flavor) const {
  if (workload_.avoids_flavors && workload_.Avoids(context_.state.vocabulary().flavors[flavor])) {
    Obstacle obstacle;
    obstacle.flavor = flavor;
    obstacle.kind = Obstacle::Kind::kUsedUp;
    return obstacle;
  }
  const bool on_topology =
      context_.topologies &&
      (context_.state.placer().HasTopology(flavor) ||
       std::any_of(group.pod_sets.begin(), group.pod_sets.end(), [this](std::size_t index) {
         return workload_.pod_sets[index].topology_request;
       }));
  if (!on_topology && context_.state.TakesAllPods(flavor)) return std::nullopt;
  Obstacle obstacle;
  obstacle.flavor = flavor;
  const std::shared_ptr<const api::ResourceFlavor> object = context_.state.flavor(flavor);
  if (object == nullptr) {
    obstacle.kind = Obstacle::Kind::kFlavorNotFound;
    return obstacle;
  }
  for (const std::size_t index : group.pod_sets) {
    const api::PodSet& pod_set = workload_.object->spec.pod_sets[index];
    if (context_.topologies) {
      if (auto mismatch = TopologyMismatch(pod_set, resources, flavor)) {
        obstacle.kind = Obstacle::Kind::kTopology;
        obstacle.SetText(*std::move(mismatch));
        return obstacle;
      }
    }
    const api::PodSpec& spec = pod_set.pod_template.spec;
    if (const api::Taint* taint = UntoleratedTaint(spec, *object)) {
      obstacle.kind = Obstacle::Kind::kUntoleratedTaint;
      obstacle.SetTaint(std::shared_ptr<const api::Taint>(object, taint));
      return obstacle;
    }
    if (!MatchesFlavor(spec, *object)) {
      obstacle.kind = Obstacle::Kind::kAffinityMismatch;
      return obstacle;
    }
    const auto excess =
        context_.state.gpu_sharing(flavor).FindExcess(workload_.pod_sets[index].per_pod);
    if (excess) {
      obstacle.kind = Obstacle::Kind::kTooManyShares;
      obstacle.resource = excess->request.resource;
      obstacle.requested = excess->request.amount;
      obstacle.limit = excess->most;
      return obstacle;
    }
  }
  return std::nullopt;
}

Amount FlavorAssigner::ReplacedAmount(std::size_t pod_set, ResourceId resource) const {
  if (replaced_ == nullptr) return 0;
  const std::string& name = workload_.pod_sets[pod_set].name;
  for (const PodSetCharge& charge : *replaced_) {
    if (charge.resource == resource && charge.pod_set == name) return charge.amount;
  }
  return 0;
}

std::optional<Obstacle> FlavorAssigner::DiffersFromSlice(const PodSetGroup& group,
                                                         const CompiledGroup& resources,
                                                         FlavorId flavor) const {
  if (replaced_ == nullptr) return std::nullopt;
  const queue::Names& flavors = context_.state.vocabulary().flavors;
  for (const PodSetCharge& charge : *replaced_) {
    const bool of_group = std::any_of(
        group.pod_sets.begin(), group.pod_sets.end(),
        [&](std::size_t index) { return workload_.pod_sets[index].name == charge.pod_set; });
    const bool requested = std::any_of(
        group.requests.begin(), group.requests.end(),
        [&](const ResourceRequest& request) { return request.resource == charge.resource; });
    if (!of_group || !requested || charge.flavor == flavor ||
        queue_.GroupOf(charge.resource) != &resources) {
      continue;
    }
    Obstacle other;
    other.kind = Obstacle::Kind::kOfAnotherSlice;
    other.resource = charge.resource;
    other.flavor = flavor;
    other.SetText("could not assign " + flavors[flavor] +
                  " flavor since the original workload is assigned: " + flavors[charge.flavor]);
    return other;
  }
  return std::nullopt;
}

bool FlavorAssigner::IsNominated(const PodSetGroup& group, FlavorId flavor,
                                 ResourceId resource) const {
  for (const std::size_t index : group.pod_sets) {
    const std::string& name = workload_.pod_sets[index].name;
    for (const PodSetDecision& decision : nominated_->pod_sets) {
      if (decision.name != name) continue;
      for (const FlavorChoice& choice : decision.flavors) {
        if (choice.resource == resource && choice.flavor == flavor) return true;
      }
    }
  }
  return false;
}

}  // namespace berth::admission
