#include "admission/flavors/flavor_assigner.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "admission/flavors/flavor_topology.h"

namespace berth::admission {

FlavorAssigner::FlavorAssigner(const Context& context, const queue::WorkloadInfo& workload,
                               ClusterQueueId queue, const ScanState* scan,
                               const Assignment* nominated, PreemptionOracle& oracle)
    : context_(context),
      workload_(workload),
      queue_(context.state.queue(queue)),
      scan_(context.gates.flavor_fungibility ? scan : nullptr),
      nominated_(nominated),
      pods_(context.state.vocabulary().pods),
      gpus_(context.state.vocabulary().gpus),
      places_everything_(context.topologies && PlacesEverything(queue_, context.state.placer())),
      match_(context.state, workload, context.topologies, places_everything_),
      quota_(context.state.tree(), queue_, context.fair_sharing, oracle) {}

void FlavorAssigner::Assign(const std::vector<std::int32_t>& counts, Assignment& assignment) {
  assignment.Clear();
  assignment.pod_sets.reserve(workload_.pod_sets.size());
  const RequestRules rules{context_.state.vocabulary().resources, queue_, pods_, gpus_,
                           context_.ignore_undeclared};
  const PodSetGroups groups = GroupPodSets(rules, workload_, counts, assignment);
  assignment.scan.changes_seen = context_.state.changes().count();
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
    if (replaced_.exists()) replaced_.KeepTopologies(assignment);
    PlaceByTopology(context_.state, queue_, *workload_.object, assignment);
  }
  if (assignment.mode == AssignmentMode::kNoFit) {
    assignment.no_fit_reason = NoFitReasonOf(queue_, assignment);
  }
}

// Answered from the compiled pod sets; reading the object would miss the cache.
bool FlavorAssigner::MayBePlaced() const {
  return context_.topologies && (places_everything_ || workload_.HasTopologyRequest());
}

bool FlavorAssigner::AssignGroup(const PodSetGroup& group, Assignment& assignment) {
  FlavorChoices choices;
  Obstacles obstacles;
  FlavorAttempts attempts;
  for (const std::size_t index :
       OrderOfResources(group.requests, context_.state.vocabulary().resources)) {
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
      MergeAttempts(attempts, std::move(flavor_scan.attempts), *resources);
    }
    const bool failed = flavor_scan.best.empty();
    // After a flavor that fits, no other flavor's obstacles are reported; after a failure all are.
    const bool silent = flavor_scan.found && flavor_scan.best_mode.rating == FlavorRating::kFit;
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
              api::SubtractAmounts(request.amount, replaced_.Charged(index, request.resource)));
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
  const api::FlavorFungibility& policy = queue_.spec.flavor_fungibility;
  flavor_scan.best_mode = {FlavorRating::kNoFit, std::numeric_limits<std::int32_t>::max()};
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
    if (std::optional<Obstacle> obstacle = match_.FindObstacle(group, resources, flavor)) {
      flavor_scan.obstacles.push_back(*std::move(obstacle));
      flavor_scan.attempts.push_back(
          {flavor, AssignmentMode::kNoFit, std::nullopt, 0, NoFitReason::kNoMatchingFlavor});
      continue;
    }
    FlavorChoices choices;
    const FlavorMode mode =
        TryFlavor(group, resources, static_cast<std::size_t>(index), assumed, flavor_scan, choices);
    if (!context_.gates.flavor_fungibility) {
      if (mode.rating <= flavor_scan.best_mode.rating) continue;
      flavor_scan.best = std::move(choices);
      flavor_scan.best_mode = mode;
      flavor_scan.found = true;
      if (mode.rating == FlavorRating::kFit) return;
      continue;
    }
    const bool stop = !TriesNext(policy, mode);
    if (stop || IsPreferred(policy, mode, flavor_scan.best_mode)) {
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

FlavorMode FlavorAssigner::TryFlavor(const PodSetGroup& group, const CompiledGroup& resources,
                                     std::size_t index, const Usage& assumed,
                                     FlavorScan& flavor_scan, FlavorChoices& choices) {
  const FlavorId flavor = resources.flavors[index];
  FlavorMode worst;
  FlavorAttempt attempt;
  attempt.flavor = flavor;
  if (std::optional<Obstacle> other =
          replaced_.FindObstacle(group, resources, flavor, context_.state.vocabulary().flavors)) {
    flavor_scan.obstacles.push_back(*std::move(other));
    attempt.no_fit_reason = NoFitReason::kNoMatchingFlavor;
    flavor_scan.attempts.push_back(attempt);
    return {FlavorRating::kNoFit, 0};
  }
  for (const ResourceRequest& request : group.requests) {
    const FlavorResourceId fr = resources.Find(index, request.resource);
    if (fr < 0) continue;  // another resource group has it
    Amount asked = AmountIn(flavor, request, group.requests);
    for (const std::size_t pod_set : group.pod_sets) {
      asked = api::SubtractAmounts(asked, replaced_.Charged(pod_set, request.resource));
    }
    const QuotaDemand demand{fr, request.resource, flavor, AmountOf(assumed, fr), asked};
    const bool replaced_has_all = replaced_.exists() && demand.Total() <= 0;
    const QuotaAnswer answer =
        replaced_has_all ? QuotaAnswer{} : quota_.Ask(demand, flavor_scan.obstacles);
    attempt.no_fit_reason = std::max(attempt.no_fit_reason, answer.no_fit_reason);
    attempt.borrow_height = std::max(attempt.borrow_height, answer.mode.borrow_height);
    if (IsPreferred(queue_.spec.flavor_fungibility, worst, answer.mode)) worst = answer.mode;
    if (worst.rating == FlavorRating::kNoFit) continue;
    FlavorChoice& choice = choices.emplace_back();
    choice.resource = request.resource;
    choice.flavor = flavor;
    choice.flavor_resource = fr;
    choice.mode =
        answer.mode.rating == FlavorRating::kFit ? AssignmentMode::kFit : AssignmentMode::kPreempt;
    choice.borrow_height = answer.mode.borrow_height;
  }
  NoteRating(worst.rating, attempt);
  flavor_scan.attempts.push_back(attempt);
  return worst;
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

void FlavorAssigner::Finish(Assignment& assignment) const {
  assignment.mode = assignment.pod_sets.empty() ? AssignmentMode::kNoFit : AssignmentMode::kFit;
  for (const PodSetDecision& pod_set : assignment.pod_sets) {
    assignment.mode = std::min(assignment.mode, pod_set.Mode());
  }
  if (!replaced_.exists()) return;
  erase_if(assignment.usage, [](const FlavorResourceAmount& item) { return item.amount <= 0; });
  assignment.scan.positions.clear();  // the one flavor is tried each time
}

bool FitsWithoutPreemption(const FlavorAssigner::Context& context,
                           const queue::WorkloadInfo& workload, ClusterQueueId queue,
                           Assignment& assignment) {
  class NoPreemption : public PreemptionOracle {
   public:
    Answer Simulate(FlavorResourceId /*flavor_resource*/, Amount /*amount*/) override { return {}; }
  };
  NoPreemption oracle;
  FlavorAssigner assigner(context, workload, queue, nullptr, nullptr, oracle);
  assigner.Assign({}, assignment);
  return assignment.mode == AssignmentMode::kFit;
}

}  // namespace berth::admission
