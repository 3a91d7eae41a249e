#include "tests/support/story_runner.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/random.h"

namespace berth::support {
namespace {

api::ObjectKey KeyOf(int workload) { return {"default", WorkloadName(workload)}; }

template <typename T>
void Shuffle(std::vector<T>& list, Random& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.Below(i)]);
}

bool ChangesWorkload(EventKind kind) {
  return kind == EventKind::kSubmit || kind == EventKind::kFinish || kind == EventKind::kDelete ||
         kind == EventKind::kSetPriority || kind == EventKind::kToggle ||
         kind == EventKind::kReclaim;
}

constexpr api::StopPolicy kPolicies[] = {api::StopPolicy::kNone, api::StopPolicy::kHold,
                                         api::StopPolicy::kHoldAndDrain, api::StopPolicy::kNone};

}  // namespace

StoryRun::StoryRun(const Story& story, StoryHooks hooks, std::optional<std::uint64_t> shuffle)
    : story_(story),
      hooks_(std::move(hooks)),
      shuffle_(shuffle),
      world_({.scheduler = ConfigOf(story)}) {
  MakeObjects(story, shuffle);
}

StoryRun::StoryRun(const Story& story, StoryHooks hooks, const admission::SchedulerConfig& config)
    : story_(story), hooks_(std::move(hooks)), world_({.scheduler = config}) {
  MakeObjects(story, std::nullopt);
}

void StoryRun::MakeObjects(const Story& story, std::optional<std::uint64_t> shuffle) {
  std::vector<std::function<void()>> makers;
  makers.emplace_back([&] { world_.Apply(MakeNamespace(story)); });
  for (const api::ResourceFlavor& flavor : MakeFlavors(story)) {
    makers.emplace_back([this, flavor] { world_.Apply(flavor); });
  }
  for (int i = 0; i < static_cast<int>(story.cohorts.size()); ++i) {
    makers.emplace_back([this, &story, i] { world_.Apply(MakeCohort(story, i)); });
  }
  for (int i = 0; i < static_cast<int>(story.queues.size()); ++i) {
    makers.emplace_back([this, &story, i] { world_.Apply(MakeClusterQueue(story, i)); });
    makers.emplace_back([this, &story, i] { world_.Apply(MakeLocalQueue(story, i)); });
  }
  if (shuffle) {
    Random random(*shuffle);
    Shuffle(makers, random);
  }
  for (const auto& make : makers) make();
  world_.Advance(std::chrono::seconds(1));
  world_.RunWakeUps();
}

std::vector<std::vector<StoryRun::Named>> StoryRun::Instants() const {
  std::vector<std::vector<Named>> instants(1);
  std::set<std::string> changed;
  int submitted = 0;
  int before = 0;  // submitted in earlier instants
  const int queues = static_cast<int>(story_.queues.size());
  const int cohorts = static_cast<int>(story_.cohorts.size());
  for (const Event& event : story_.events) {
    if (event.later > 0 && !instants.back().empty()) {
      instants.emplace_back();
      changed.clear();
      before = submitted;
    }
    Named named{event, "", 0};
    if (event.kind == EventKind::kSubmit) {
      named.workload = submitted++;
      named.object = WorkloadName(named.workload);
    } else if (ChangesWorkload(event.kind)) {
      if (before == 0) continue;
      named.workload = event.target % before;
      named.object = WorkloadName(named.workload);
    } else if (event.kind == EventKind::kEditCohort) {
      if (cohorts == 0) continue;
      named.object = "cohort " + std::to_string(event.target % cohorts);
    } else if (event.kind == EventKind::kStopLocalQueue) {
      named.object = "local queue " + std::to_string(event.target % queues);
    } else {
      named.object = "queue " + std::to_string(event.target % queues);
    }
    if (changed.insert(named.object).second) instants.back().push_back(std::move(named));
  }
  return instants;
}

void StoryRun::EditQuota(const Event& event) {
  QueuePlan& plan = story_.queues[static_cast<std::size_t>(event.target) % story_.queues.size()];
  for (std::size_t i = 0; i < plan.quotas.size() && i < event.amounts.size(); ++i) {
    plan.quotas[i].nominal = event.amounts[i];
  }
}

void StoryRun::EditCohort(const Event& event) {
  CohortPlan& plan = story_.cohorts[static_cast<std::size_t>(event.target) % story_.cohorts.size()];
  plan.quotas_used = event.value;
  if (plan.parent > 0) plan.parent = event.pods;  // only cohorts that were below another move
  for (std::size_t i = 0; i < plan.quotas.size() && i < event.amounts.size(); ++i) {
    plan.quotas[i].nominal = event.amounts[i];
  }
  const int index = event.target % static_cast<int>(story_.cohorts.size());
  world_.Apply(MakeCohort(story_, index));
}

void StoryRun::StopLocalQueue(const Event& event) {
  const int index = event.target % static_cast<int>(story_.queues.size());
  api::LocalQueue queue = MakeLocalQueue(story_, index);
  queue.stop_policy = kPolicies[event.value];
  world_.Apply(queue);
}

void StoryRun::Do(const Named& named) {
  const Event& event = named.event;
  const api::ObjectKey key = KeyOf(named.workload);
  const api::Workload* workload = world_.Find(key);
  const int queue_index = event.target % static_cast<int>(story_.queues.size());
  all_heads_are_due_ =
      all_heads_are_due_ || !(event.kind == EventKind::kSubmit || ChangesWorkload(event.kind));
  switch (event.kind) {
    case EventKind::kSubmit: world_.Apply(MakeWorkload(story_, event, named.workload)); return;
    case EventKind::kFinish: world_.Finish(key); return;
    case EventKind::kDelete: world_.DeleteWorkload(key); return;
    case EventKind::kSetPriority: world_.SetPriority(key, event.value); return;
    case EventKind::kToggle:
      if (workload != nullptr) world_.SetActive(key, !workload->spec.active);
      return;
    case EventKind::kReclaim: world_.Reclaim(key, "main", event.value); return;
    case EventKind::kEditCohort: EditCohort(event); return;
    case EventKind::kStopLocalQueue: StopLocalQueue(event); return;
    case EventKind::kEditQuota: EditQuota(event); break;
    case EventKind::kMoveQueue:
      story_.queues[static_cast<std::size_t>(queue_index)].cohort = event.value;
      break;
    case EventKind::kStopQueue: break;
  }
  const auto before = world_.objects().all<api::ClusterQueue>().find(QueueName(queue_index));
  api::ClusterQueue queue = MakeClusterQueue(story_, queue_index);
  queue.spec.stop_policy = before->second.spec.stop_policy;
  if (event.kind == EventKind::kStopQueue) queue.spec.stop_policy = kPolicies[event.value];
  world_.Apply(queue);
}

void StoryRun::PassSeconds(int seconds) {
  world_.Advance(std::chrono::seconds(seconds));
  all_heads_are_due_ = all_heads_are_due_ || seconds > 0;
}

bool StoryRun::Play() {
  std::uint64_t seed = shuffle_.value_or(0);
  for (std::vector<Named>& instant : Instants()) {
    if (shuffle_) {
      Random random(++seed);
      Shuffle(instant, random);
    }
    if (!instant.empty()) PassSeconds(instant.front().event.later);
    for (const Named& named : instant) Do(named);
    if (!Settle()) return false;
    if (hooks_.at_rest) hooks_.at_rest(world_);
  }
  return true;
}

bool StoryRun::FinishAll() {
  while (true) {
    std::vector<api::ObjectKey> running;
    for (const auto& [key, workload] : world_.workloads()) {
      const auto id = world_.scheduler().workloads().Find(key);
      if (id && world_.scheduler().state().reservation(*id) != nullptr) running.push_back(key);
    }
    if (running.empty()) return true;
    PassSeconds(1);
    world_.Finish(running.front());
    if (!Settle()) return false;
    if (hooks_.at_rest) hooks_.at_rest(world_);
  }
}

// The number of cycles without progress until every head has tried each flavor.
int StoryRun::IdleLimit() const {
  std::int64_t active = 1;
  for (const auto& [name, queue] : world_.objects().all<api::ClusterQueue>()) {
    const auto id = world_.scheduler().state().cluster_queues().Find(name);
    active +=
        static_cast<std::int64_t>(world_.scheduler().queues().waiting(*id).Split().active.size());
  }
  return static_cast<int>(active) * (story_.flavors + 1);
}

bool StoryRun::RunCycle() {
  world_.Advance(std::chrono::milliseconds(1));
  if (hooks_.before_cycle) hooks_.before_cycle(world_);
  const bool all = std::exchange(all_heads_are_due_, false);
  const admission::CycleResult result = world_.Decide(all ? Heads::kAll : heads_);
  if (hooks_.decided) hooks_.decided(world_, result);
  bool moved = false;
  for (const admission::Decision& decision : result.decisions) {
    ++tally_.decisions;
    if (admission::GivesQuota(decision)) {
      ++tally_.admissions;
      moved = true;
    }
    if (decision.outcome != admission::Outcome::kPreempting) continue;
    for (const admission::Victim& victim : decision.victims) {
      if (victim.ongoing) continue;
      ++tally_.preemptions;
      moved = true;
    }
  }
  world_.Perform(result);
  ++tally_.cycles;
  return moved;
}

bool StoryRun::ReleaseDue() {
  bool released = false;
  const std::vector<api::ObjectKey> evicted = world_.Evicted();
  std::erase_if(due_, [&evicted](const auto& entry) {  // finished or deleted meanwhile
    return !std::binary_search(evicted.begin(), evicted.end(), entry.first);
  });
  for (const api::ObjectKey& key : evicted) {
    const auto [due, added] = due_.try_emplace(key, story_.lag);
    if (due->second-- > 0) continue;
    due_.erase(due);
    world_.Release(key);
    released = true;
  }
  return released;
}

bool StoryRun::Settle() {
  int idle = 0;
  int limit = IdleLimit();
  for (int cycle = 0; cycle < kMaxCycles; ++cycle) {
    bool moved = world_.HasHeads() && RunCycle();
    moved = ReleaseDue() || moved;
    if (moved) {
      idle = 0;
      limit = IdleLimit();
      continue;
    }
    if (!due_.empty() || (world_.HasHeads() && ++idle <= limit)) continue;
    PassSeconds(1);
    if (world_.RunWakeUps().count == 0) return true;
    idle = 0;
    limit = IdleLimit();
  }
  return false;
}

std::vector<std::string> Describe(const ControlPlane& world, const admission::CycleResult& result) {
  std::vector<std::string> lines;
  const admission::Vocabulary& names = world.scheduler().state().vocabulary();
  for (const admission::Decision& decision : result.decisions) {
    std::string line = decision.object->meta.name + " " + ToString(decision.outcome) + " height " +
                       std::to_string(decision.assignment.borrow_height);
    for (const admission::PodSetDecision& pod_set : decision.assignment.pod_sets) {
      line += " " + pod_set.name + "x" + std::to_string(pod_set.count);
      for (const admission::FlavorChoice& choice : pod_set.flavors) {
        line += " " + names.resources[choice.resource] + ":" + names.flavors[choice.flavor];
      }
    }
    std::vector<std::string> victims;
    for (const admission::Victim& victim : decision.victims) {
      victims.push_back(victim.object->meta.name + "(" + ToString(victim.reason) + ")");
    }
    std::sort(victims.begin(), victims.end());
    for (const std::string& victim : victims) line += " -" + victim;
    line += std::string(" requeue ") + queue::ToString(decision.requeue_reason);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace berth::support
