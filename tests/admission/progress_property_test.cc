// Goal: order and progress: no workload overtakes in a StrictFIFO queue, the order of events of one
// instant does not matter, no workload that fits keeps waiting. Method: random stories.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "api/condition.h"
#include "api/reasons.h"
#include "tests/support/core_digest.h"
#include "tests/support/property.h"
#include "tests/support/quota_model.h"
#include "tests/support/story_runner.h"

namespace berth::admission {
namespace {

using simulation::ControlPlane;
using support::Amounts;
using support::QuotaModel;

// Whether the object may be admitted.
bool Waits(const ControlPlane& world, const api::Workload& workload) {
  const auto& conditions = workload.status.conditions;
  const api::LocalQueue* const local =
      world.objects().FindLocalQueue({workload.meta.namespace_name, workload.spec.queue_name});
  return workload.spec.active && !api::IsTrue(conditions, api::kFinished) &&
         !api::IsTrue(conditions, api::kQuotaReserved) &&
         !api::IsFalse(conditions, api::kRequeued) && local != nullptr &&
         local->stop_policy == api::StopPolicy::kNone;
}

// KEP: priority, then queue-order instant (here never an eviction's), then UID.
bool StandsBefore(const api::Workload& a, const api::Workload& b) {
  const auto priority = [](const api::Workload& w) { return w.spec.priority.value_or(0); };
  if (priority(a) != priority(b)) return priority(a) > priority(b);
  if (a.meta.creation_timestamp != b.meta.creation_timestamp) {
    return a.meta.creation_timestamp < b.meta.creation_timestamp;
  }
  return a.meta.uid < b.meta.uid;
}

TEST(ProgressProperty, AStrictHeadIsNeverOvertaken) {
  std::int64_t heads = 0;
  support::CheckProperty(1500, [&heads] {
    const auto story = *support::AnyStory({});
    const auto check = [&heads](const ControlPlane& world, const CycleResult& result) {
      for (const Decision& decision : result.decisions) {
        const QueueState& queue = world.scheduler().state().queue(decision.cluster_queue);
        if (queue.spec.queueing_strategy != api::QueueingStrategy::kStrictFifo) continue;
        for (const auto& [key, other] : world.workloads()) {
          if (other.meta.name == decision.object->meta.name || !Waits(world, other) ||
              world.objects().ClusterQueueOf(other) != queue.name) {
            continue;
          }
          ++heads;
          if (StandsBefore(other, *decision.object)) {
            RC_FAIL("cycle " + std::to_string(result.cycle) + ": " + decision.object->meta.name +
                    " overtook " + other.meta.name);
          }
        }
      }
    };
    support::StoryRun(story, {.decided = check}).Play();
  });
  EXPECT_GT(heads, 1000) << "the stories hardly queue";
}

TEST(ProgressProperty, OrderOfEventsOfOneInstantDoesNotMatter) {
  support::CheckProperty(1500, [] {
    const auto story = *support::AnyStory({});
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    std::vector<std::string> first;
    std::vector<std::string> second;
    const auto listen = [](std::vector<std::string>& log) {
      return support::StoryHooks{
          .decided =
              [&log](const ControlPlane& world, const CycleResult& result) {
                for (std::string& line : support::Describe(world, result)) {
                  log.push_back(std::to_string(result.cycle) + ": " + std::move(line));
                }
              },
          .at_rest =
              [&log](const ControlPlane& world) {
                log.push_back(
                    support::DigestOfQueues(world.scheduler(), support::Waiting::kPlaces));
              }};
    };
    support::StoryRun(story, listen(first)).Play();
    support::StoryRun(story, listen(second), seed).Play();
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
      RC_ASSERT(first[i] == second[i]);
    }
    RC_ASSERT(first.size() == second.size());
  });
}

// The decisions that change something: admissions, and evictions that begin.
std::vector<std::string> Moves(const ControlPlane& world, const CycleResult& result) {
  std::vector<std::string> moves;
  const std::vector<std::string> lines = support::Describe(world, result);
  std::size_t line = 0;
  for (const Decision& decision : result.decisions) {
    const bool begins = decision.outcome == Outcome::kPreempting &&
                        !std::all_of(decision.victims.begin(), decision.victims.end(),
                                     [](const Victim& victim) { return victim.ongoing; });
    if (GivesQuota(decision) || begins) {
      moves.push_back(std::to_string(result.cycle) + ": " + lines[line]);
    }
    ++line;
  }
  return moves;
}

TEST(ProgressProperty, HeadsOfTreesThatAreNotDueDoNotMove) {
  std::int64_t left_out = 0;
  support::CheckProperty(1500, [&left_out] {
    const auto story = *support::AnyStory({});
    const auto play = [&story](support::StoryRun::Heads heads, std::vector<std::string>& moves) {
      support::StoryRun run(story, {.decided = [&moves](const auto& world, const auto& result) {
                              for (std::string& move : Moves(world, result))
                                moves.push_back(std::move(move));
                            }});
      run.Take(heads);
      run.Play();
      return run.tally();
    };
    std::vector<std::string> of_all;
    std::vector<std::string> of_due;
    const auto all = play(support::StoryRun::Heads::kAll, of_all);
    const auto due = play(support::StoryRun::Heads::kOfDueTrees, of_due);
    for (std::size_t i = 0; i < std::min(of_all.size(), of_due.size()); ++i) {
      RC_ASSERT(of_all[i] == of_due[i]);
    }
    RC_ASSERT(of_all.size() == of_due.size());
    left_out += all.decisions - due.decisions;
  });
  EXPECT_GT(left_out, 100) << "the stories hardly have heads that wait for others";
}

Amounts RequestOf(const api::Workload& workload, const std::string& flavor, std::int32_t count) {
  Amounts request;
  for (const auto& [resource, amount] :
       api::PodRequests(workload.spec.pod_sets[0].pod_template.spec)) {
    request[{flavor, resource}] = amount * count;
  }
  return request;
}

std::int32_t CountOf(const api::Workload& workload) {
  std::int32_t count = workload.spec.pod_sets[0].count;
  for (const auto& pods : workload.status.reclaimable_pods) count -= pods.count;
  return std::max(count, 0);
}

// Whether some flavor has room for all its pods; all resources are in one group. (Partial counts
// are not tested: a scan that has moved to the next flavor does not return for them until a change,
// as in Kueue.)
template <typename HasRoom>
bool SomeFlavorHas(const ControlPlane& world, const api::Workload& workload, HasRoom has_room) {
  const auto& queue =
      world.objects().all<api::ClusterQueue>().at(world.objects().ClusterQueueOf(workload));
  for (const api::FlavorQuotas& flavor : queue.spec.resource_groups[0].flavors) {
    if (has_room(queue.meta.name, RequestOf(workload, flavor.flavor, CountOf(workload)))) {
      return true;
    }
  }
  return false;
}

bool IsActive(const ControlPlane& world, const api::Workload& workload) {
  const ClusterState& state = world.scheduler().state();
  const auto id = state.cluster_queues().Find(world.objects().ClusterQueueOf(workload));
  return id && state.queue(*id).active();
}

TEST(ProgressProperty, NoParkedWorkloadFits) {
  std::int64_t parked = 0;
  support::CheckProperty(1500, [&parked] {
    const auto story = *support::AnyStory({});
    const auto check = [&parked](const ControlPlane& world) {
      const QuotaModel model(world, QuotaModel::Evicted::kCount);
      for (const auto& [key, workload] : world.workloads()) {
        const auto id = world.scheduler().workloads().Find(key);
        if (!Waits(world, workload) || !IsActive(world, workload) ||
            world.scheduler().queues().PlaceOf(*id) != queue::Destination::kInadmissible) {
          continue;
        }
        ++parked;
        const bool fits = SomeFlavorHas(world, workload,
                                        [&model](const std::string& queue, const Amounts& request) {
                                          return model.Fits(queue, request);
                                        });
        if (fits) RC_FAIL(workload.meta.name + " fits, and nothing wakes it");
      }
    };
    support::StoryRun(story, {.at_rest = check}).Play();
  });
  EXPECT_GT(parked, 100) << "the stories hardly park anybody";
}

TEST(ProgressProperty, EveryWorkloadThatCanFitIsAdmittedInTheEnd) {
  std::int64_t left = 0;
  support::CheckProperty(1500, [&left] {
    const auto story = *support::AnyStory({});
    support::StoryRun run(story, {});
    RC_ASSERT(run.Play());
    RC_ASSERT(run.FinishAll());
    const ControlPlane& world = run.world();
    const QuotaModel model(world, QuotaModel::Evicted::kCount);
    for (const auto& each : world.workloads()) {
      const api::Workload& workload = each.second;
      if (!Waits(world, workload) || !IsActive(world, workload)) continue;
      ++left;
      const auto could = [&](const api::Workload& asked) {
        return SomeFlavorHas(world, asked, [&model](const std::string& queue, const Amounts& all) {
          return std::all_of(all.begin(), all.end(), [&](const auto& item) {
            return item.second <= model.Potential(queue, item.first);
          });
        });
      };
      if (!could(workload)) continue;
      // In a StrictFIFO queue it may wait behind a workload that never fits.
      const auto others = world.workloads();
      const bool behind = std::any_of(others.begin(), others.end(), [&](const auto& other) {
        return Waits(world, other.second) &&
               world.objects().ClusterQueueOf(other.second) ==
                   world.objects().ClusterQueueOf(workload) &&
               StandsBefore(other.second, workload) && !could(other.second);
      });
      const auto& queue =
          world.objects().all<api::ClusterQueue>().at(world.objects().ClusterQueueOf(workload));
      const bool strict = queue.spec.queueing_strategy == api::QueueingStrategy::kStrictFifo;
      if (!strict || !behind)
        RC_FAIL(workload.meta.name + " waits though all others have finished");
    }
  });
  EXPECT_GT(left, 20) << "the stories leave nobody waiting: the check is never put to the test";
}

}  // namespace
}  // namespace berth::admission
