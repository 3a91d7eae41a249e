#include "tests/support/story.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "tests/support/property.h"

namespace berth::support {
namespace {

constexpr const char* kResources[] = {"gpu", "memory"};
constexpr std::int64_t kWeights[] = {1'000'000'000, 2'000'000'000, 500'000'000, 0};
constexpr int kMaxNominal = 8;
constexpr int kMaxRequest = 4;
constexpr int kMaxPriority = 4;

rc::Gen<int> If(bool wanted, int bound) { return wanted ? Below(bound) : rc::gen::just(0); }

rc::Gen<std::vector<QuotaPlan>> AnyQuotas(const StoryOptions& options) {
  const auto quota =
      rc::gen::build<QuotaPlan>(rc::gen::set(&QuotaPlan::nominal, Below(kMaxNominal)),
                                rc::gen::set(&QuotaPlan::borrowing, If(options.limits, 5)),
                                rc::gen::set(&QuotaPlan::lending, If(options.limits, 5)));
  const auto count = static_cast<std::size_t>(options.max_flavors * options.max_resources);
  return rc::gen::container<std::vector<QuotaPlan>>(count, quota);
}

rc::Gen<CohortPlan> AnyCohort(const StoryOptions& options) {
  return rc::gen::build<CohortPlan>(
      rc::gen::set(&CohortPlan::parent, If(options.nested_cohorts, options.max_cohorts + 1)),
      rc::gen::set(&CohortPlan::weight, If(options.fair_sharing, 4)),
      rc::gen::set(&CohortPlan::quotas, AnyQuotas(options)),
      rc::gen::set(&CohortPlan::quotas_used, Below(3)));
}

rc::Gen<QueuePlan> AnyQueue(const StoryOptions& options) {
  return rc::gen::build<QueuePlan>(
      rc::gen::set(&QueuePlan::cohort, Below(options.max_cohorts + 1)),
      rc::gen::set(&QueuePlan::strict, If(options.strict_queues, 2)),
      rc::gen::set(&QueuePlan::weight, If(options.fair_sharing, 4)),
      rc::gen::set(&QueuePlan::within, If(options.preemption, 3)),
      rc::gen::set(&QueuePlan::reclaim, If(options.preemption, 3)),
      rc::gen::set(&QueuePlan::borrow, If(options.preemption, 2)),
      rc::gen::set(&QueuePlan::threshold, If(options.preemption, 4)),
      rc::gen::set(&QueuePlan::next_when_borrowing, If(options.fungibility, 2)),
      rc::gen::set(&QueuePlan::stop_when_preempting, If(options.fungibility, 2)),
      rc::gen::set(&QueuePlan::preemption_over_borrowing, If(options.fungibility, 2)),
      rc::gen::set(&QueuePlan::flavors_reversed, If(options.fungibility, 2)),
      rc::gen::set(&QueuePlan::quotas, AnyQuotas(options)));
}

rc::Gen<EventKind> AnyKind(const StoryOptions& options) {
  std::vector<std::pair<std::size_t, rc::Gen<EventKind>>> kinds;
  const auto add = [&kinds](bool wanted, std::size_t weight, EventKind kind) {
    if (wanted) kinds.emplace_back(weight, rc::gen::just(kind));
  };
  add(true, 10, EventKind::kSubmit);
  add(options.departures, 4, EventKind::kFinish);
  add(options.departures, 1, EventKind::kDelete);
  add(options.departures, 1, EventKind::kToggle);
  add(options.departures, 1, EventKind::kReclaim);
  add(options.reprioritise, 1, EventKind::kSetPriority);
  add(options.edits, 1, EventKind::kEditQuota);
  add(options.edits, 1, EventKind::kEditCohort);
  add(options.edits, 1, EventKind::kStopQueue);
  add(options.edits, 1, EventKind::kStopLocalQueue);
  add(options.edits, 1, EventKind::kMoveQueue);
  // Shrinks to kSubmit, which needs no earlier event.
  return rc::gen::mapcat(Below(static_cast<int>([&] {
                           std::size_t sum = 0;
                           for (const auto& [weight, kind] : kinds) sum += weight;
                           return sum;
                         }())),
                         [kinds](int ticket) {
                           auto left = static_cast<std::size_t>(ticket);
                           for (const auto& [weight, kind] : kinds) {
                             if (left < weight) return kind;
                             left -= weight;
                           }
                           return kinds.front().second;
                         });
}

rc::Gen<Event> AnyEvent(const StoryOptions& options) {
  const auto count = static_cast<std::size_t>(options.max_flavors * options.max_resources);
  return rc::gen::build<Event>(
      rc::gen::set(&Event::kind, AnyKind(options)), rc::gen::set(&Event::target, Below(12)),
      rc::gen::set(&Event::value, Below(kMaxPriority)),
      rc::gen::set(&Event::amounts,
                   rc::gen::container<std::vector<int>>(count, Below(kMaxNominal))),
      rc::gen::set(&Event::pods, Below(3)), rc::gen::set(&Event::min_pods, If(options.partial, 3)),
      rc::gen::set(&Event::more_pods, If(options.more_pod_sets, 3)),
      rc::gen::set(&Event::later, Below(3)));
}

api::ResourceGroup MakeGroup(const Story& story, const std::vector<QuotaPlan>& quotas,
                             bool reversed) {
  api::ResourceGroup group;
  for (int r = 0; r < story.resources; ++r) group.covered_resources.push_back(kResources[r]);
  for (int f = 0; f < story.flavors; ++f) {
    api::FlavorQuotas& flavor = group.flavors.emplace_back();
    flavor.flavor = "f" + std::to_string(f);
    for (int r = 0; r < story.resources; ++r) {
      const auto slot = static_cast<std::size_t>(f * story.resources + r);
      const QuotaPlan plan = slot < quotas.size() ? quotas[slot] : QuotaPlan{};
      api::ResourceQuota& quota = flavor.resources.emplace_back();
      quota.resource = kResources[r];
      quota.nominal_quota = plan.nominal;
      if (plan.borrowing > 0) quota.borrowing_limit = plan.borrowing - 1;
      if (plan.lending > 0) quota.lending_limit = plan.lending - 1;
    }
  }
  if (reversed) std::reverse(group.flavors.begin(), group.flavors.end());
  return group;
}

void ShowQuotas(std::ostream& out, const std::vector<api::ResourceGroup>& groups) {
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        out << " " << flavor.flavor << "." << quota.resource << "=" << quota.nominal_quota;
        if (quota.borrowing_limit) out << "+b" << *quota.borrowing_limit;
        if (quota.lending_limit) out << "/l" << *quota.lending_limit;
      }
    }
  }
}

void ShowEvent(std::ostream& out, const Event& event) {
  constexpr const char* kNames[] = {"submit",     "finish",  "delete",     "priority",
                                    "toggle",     "reclaim", "edit-quota", "edit-cohort",
                                    "stop-queue", "stop-lq", "move"};
  out << "  +" << event.later << "s " << kNames[static_cast<int>(event.kind)] << " target "
      << event.target << " value " << event.value << " pods " << event.pods + 1 << " min -"
      << event.min_pods << " more " << event.more_pods << " amounts";
  for (const int amount : event.amounts) out << " " << amount;
  out << "\n";
}

constexpr api::PreemptionPolicy kWithin[] = {api::PreemptionPolicy::kNever,
                                             api::PreemptionPolicy::kLowerPriority,
                                             api::PreemptionPolicy::kLowerOrNewerEqualPriority};
constexpr api::PreemptionPolicy kReclaim[] = {api::PreemptionPolicy::kNever,
                                              api::PreemptionPolicy::kLowerPriority,
                                              api::PreemptionPolicy::kAny};

}  // namespace

rc::Gen<Story> AnyStory(const StoryOptions& options) {
  const auto cohorts = rc::gen::mapcat(Below(options.max_cohorts + 1), [options](int count) {
    return rc::gen::container<std::vector<CohortPlan>>(static_cast<std::size_t>(count),
                                                       AnyCohort(options));
  });
  const auto queues = rc::gen::mapcat(Below(options.max_queues), [options](int more) {
    return rc::gen::container<std::vector<QueuePlan>>(static_cast<std::size_t>(more) + 1,
                                                      AnyQueue(options));
  });
  const auto events = rc::gen::scale(static_cast<double>(options.max_events) / 100.0,
                                     rc::gen::container<std::vector<Event>>(AnyEvent(options)));
  const auto one_more = [](int n) { return n + 1; };
  return rc::gen::build<Story>(
      rc::gen::set(&Story::flavors, rc::gen::map(Below(options.max_flavors), one_more)),
      rc::gen::set(&Story::resources, rc::gen::map(Below(options.max_resources), one_more)),
      rc::gen::set(&Story::fair, If(options.fair_sharing, 4)),
      rc::gen::set(&Story::lag, Below(options.max_lag + 1)), rc::gen::set(&Story::cohorts, cohorts),
      rc::gen::set(&Story::queues, queues), rc::gen::set(&Story::events, events));
}

std::ostream& operator<<(std::ostream& out, const QuotaPlan& quota) {
  return out << quota.nominal << " borrowing " << quota.borrowing - 1 << " lending "
             << quota.lending - 1;
}

std::ostream& operator<<(std::ostream& out, const Story& story) {
  out << "story: flavors " << story.flavors << ", resources " << story.resources << ", fair "
      << story.fair << ", lag " << story.lag << "\n";
  for (std::size_t i = 0; i < story.cohorts.size(); ++i) {
    const api::Cohort cohort = MakeCohort(story, static_cast<int>(i));
    out << "  cohort " << cohort.meta.name << " below '" << cohort.spec.parent_name << "' weight "
        << cohort.spec.fair_weight_nano;
    ShowQuotas(out, cohort.spec.resource_groups);
    out << "\n";
  }
  for (std::size_t i = 0; i < story.queues.size(); ++i) {
    const api::ClusterQueue queue = MakeClusterQueue(story, static_cast<int>(i));
    const QueuePlan& plan = story.queues[i];
    out << "  queue " << queue.meta.name << " in '" << queue.spec.cohort_name << "' weight "
        << queue.spec.fair_weight_nano << (plan.strict != 0 ? " strict" : "") << " within "
        << plan.within << " reclaim " << plan.reclaim << " borrow " << plan.borrow << "/"
        << plan.threshold << " fungibility " << plan.next_when_borrowing
        << plan.stop_when_preempting << plan.preemption_over_borrowing;
    ShowQuotas(out, queue.spec.resource_groups);
    out << "\n";
  }
  for (const Event& event : story.events) ShowEvent(out, event);
  return out;
}

std::string QueueName(int index) { return "q" + std::to_string(index); }
std::string WorkloadName(int index) { return "w" + std::to_string(index); }

api::Namespace MakeNamespace(const Story&) {
  api::Namespace made;
  made.meta.name = "default";
  return made;
}

std::vector<api::ResourceFlavor> MakeFlavors(const Story& story) {
  std::vector<api::ResourceFlavor> flavors;
  for (int f = 0; f < story.flavors; ++f)
    flavors.emplace_back().meta.name = "f" + std::to_string(f);
  return flavors;
}

api::Cohort MakeCohort(const Story& story, int index) {
  const CohortPlan& plan = story.cohorts[static_cast<std::size_t>(index)];
  api::Cohort cohort;
  cohort.meta.name = "c" + std::to_string(index);
  if (plan.parent > 0 && plan.parent - 1 < index) {
    cohort.spec.parent_name = "c" + std::to_string(plan.parent - 1);
  }
  cohort.spec.fair_weight_nano = kWeights[plan.weight];
  if (plan.quotas_used != 0) {
    cohort.spec.resource_groups = {MakeGroup(story, plan.quotas, false)};
    if (cohort.spec.parent_name.empty()) {  // a root has no node to borrow from or lend to
      for (api::FlavorQuotas& flavor : cohort.spec.resource_groups[0].flavors) {
        for (api::ResourceQuota& quota : flavor.resources) {
          quota.borrowing_limit.reset();
          quota.lending_limit.reset();
        }
      }
    }
  }
  return cohort;
}

api::ClusterQueue MakeClusterQueue(const Story& story, int index) {
  const QueuePlan& plan = story.queues[static_cast<std::size_t>(index)];
  api::ClusterQueue queue;
  queue.meta.name = QueueName(index);
  api::ClusterQueueSpec& spec = queue.spec;
  const int cohorts = static_cast<int>(story.cohorts.size());
  if (plan.cohort > 0 && cohorts > 0) {
    spec.cohort_name = "c" + std::to_string((plan.cohort - 1) % cohorts);
  }
  if (plan.strict != 0) spec.queueing_strategy = api::QueueingStrategy::kStrictFifo;
  spec.namespace_selector.emplace();
  spec.fair_weight_nano = kWeights[plan.weight];
  spec.preemption.within_cluster_queue = kWithin[plan.within];
  spec.preemption.reclaim_within_cohort = kReclaim[plan.reclaim];
  // The API refuses borrowWithinCohort without reclaimWithinCohort.
  if (plan.borrow != 0 && plan.reclaim != 0) {
    spec.preemption.borrow_within_cohort = api::PreemptionPolicy::kLowerPriority;
    if (plan.threshold > 0) spec.preemption.borrow_max_priority_threshold = plan.threshold - 1;
  }
  if (plan.next_when_borrowing != 0) {
    spec.flavor_fungibility.when_can_borrow = api::SearchPolicy::kTryNextFlavor;
  }
  if (plan.stop_when_preempting != 0) {
    spec.flavor_fungibility.when_can_preempt = api::SearchPolicy::kMayStopSearch;
  }
  if (plan.preemption_over_borrowing != 0) {
    spec.flavor_fungibility.preference = api::FungibilityPreference::kPreemptionOverBorrowing;
  }
  spec.resource_groups = {MakeGroup(story, plan.quotas, plan.flavors_reversed != 0)};
  if (spec.cohort_name.empty()) {  // the API refuses limits without a cohort
    for (api::FlavorQuotas& flavor : spec.resource_groups[0].flavors) {
      for (api::ResourceQuota& quota : flavor.resources) {
        quota.borrowing_limit.reset();
        quota.lending_limit.reset();
      }
    }
  }
  return queue;
}

api::LocalQueue MakeLocalQueue(const Story&, int index) {
  api::LocalQueue queue;
  queue.meta.namespace_name = "default";
  queue.meta.name = QueueName(index);
  queue.cluster_queue = QueueName(index);
  return queue;
}

api::Workload MakeWorkload(const Story& story, const Event& event, int index) {
  api::Workload workload;
  workload.meta.namespace_name = "default";
  workload.meta.name = WorkloadName(index);
  workload.spec.queue_name = QueueName(event.target % static_cast<int>(story.queues.size()));
  workload.spec.priority = event.value;
  const auto ask = [&](api::PodSet& pods, bool reversed) {
    api::Container& container = pods.pod_template.spec.containers.emplace_back();
    for (int r = 0; r < story.resources; ++r) {
      const auto slot = static_cast<std::size_t>(reversed ? story.resources - 1 - r : r);
      const int amount = slot < event.amounts.size() ? event.amounts[slot] : 0;
      container.requests[kResources[r]] = 1 + amount % kMaxRequest;
    }
  };
  api::PodSet& pod_set = workload.spec.pod_sets.emplace_back();
  pod_set.count = event.pods + 1;
  if (event.min_pods > 0) pod_set.min_count = std::max(1, pod_set.count - event.min_pods);
  if (pod_set.min_count == pod_set.count) pod_set.min_count.reset();
  ask(pod_set, false);
  if (event.more_pods > 0) {
    api::PodSet& more = workload.spec.pod_sets.emplace_back();
    more.name = "more";
    more.count = event.more_pods;
    ask(more, true);
  }
  return workload;
}

admission::SchedulerConfig ConfigOf(const Story& story) {
  admission::SchedulerConfig config;
  if (story.fair != 0) config.fair_sharing.emplace();
  if (story.fair == 2) {
    config.fair_sharing->rules = {admission::FairSharingRule::kLessThanOrEqualToFinalShare};
  } else if (story.fair == 3) {
    config.fair_sharing->rules = {admission::FairSharingRule::kLessThanInitialShare};
  }
  return config;
}

}  // namespace berth::support
