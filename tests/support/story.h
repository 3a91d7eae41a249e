// tests/support/story.h — a random cluster and its events, as plain numbers: RapidCheck generates
// and shrinks them (fewer events, smaller amounts, features off).
//
// 0 is the plainest value of every number: no limit, no cohort, policy Never, nothing special. A
// number that names an object (a queue, a workload) counts modulo the number of objects.
//
// Threads: one. Errors: none.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <rapidcheck.h>

#include "admission/scheduler.h"
#include "api/queues.h"
#include "api/workload.h"

namespace berth::support {

struct QuotaPlan {
  int nominal = 0;
  int borrowing = 0;  // limit n - 1; 0: none
  int lending = 0;    // likewise
};

std::ostream& operator<<(std::ostream& out, const QuotaPlan& quota);

struct CohortPlan {
  int parent = 0;  // 0: a root; n: below cohort n - 1, if that comes before this one
  int weight = 0;  // an index of kWeights
  std::vector<QuotaPlan> quotas;
  int quotas_used = 0;  // 0: the cohort has no quota of its own
};

struct QueuePlan {
  int cohort = 0;  // 0: alone
  int strict = 0;
  int weight = 0;
  int within = 0;   // Never, LowerPriority, LowerOrNewerEqualPriority
  int reclaim = 0;  // Never, LowerPriority, Any
  int borrow = 0;   // Never, LowerPriority
  int threshold = 0;
  int next_when_borrowing = 0;
  int stop_when_preempting = 0;
  int preemption_over_borrowing = 0;
  int flavors_reversed = 0;
  std::vector<QuotaPlan> quotas;  // flavor-major
};

enum class EventKind : std::uint8_t {
  kSubmit,       // into queue `target`, with priority `value`
  kFinish,       // workload `target`
  kDelete,       // workload `target`
  kSetPriority,  // workload `target` gets `value`
  kToggle,       // spec.active of workload `target`
  kReclaim,      // one pod of workload `target`
  kEditQuota,    // quota of queue `target`
  kEditCohort,   // quota of cohort `target`
  kStopQueue,    // `target`, with policy `value`
  kStopLocalQueue,
  kMoveQueue,  // queue `target` into cohort `value` (0: out)
};

struct Event {
  EventKind kind = EventKind::kSubmit;
  int target = 0;
  int value = 0;
  std::vector<int> amounts;  // per pod, or quotas
  int pods = 0;              // the number of pods - 1
  int min_pods = 0;          // minCount is so many below the count; 0: no minCount
  int more_pods = 0;         // pods of a second pod set, with the amounts in reverse order
  int later = 0;             // seconds since the event before; 0: the same instant
};

struct Story {
  int flavors = 1;
  int resources = 1;
  int fair = 0;  // 0: classical; 1: both rules, 2: final share only, 3: initial share only
  int lag = 0;   // cycles that a victim takes to stop
  std::vector<CohortPlan> cohorts;
  std::vector<QueuePlan> queues;
  std::vector<Event> events;
};
std::ostream& operator<<(std::ostream& out, const Story& story);

// The parts of generated stories.
struct StoryOptions {
  int max_cohorts = 3;
  bool nested_cohorts = true;
  int max_queues = 4;
  int max_flavors = 2;
  int max_resources = 2;
  int max_events = 60;
  int max_lag = 2;
  bool strict_queues = true;
  bool limits = true;
  bool preemption = true;
  bool fair_sharing = true;
  bool fungibility = true;
  bool partial = true;  // minCount
  bool more_pod_sets = false;
  bool edits = true;       // quotas, cohorts, stop policies change while workloads run
  bool departures = true;  // workloads finish, are deleted, toggled, reclaimed
  bool reprioritise = true;
};
rc::Gen<Story> AnyStory(const StoryOptions& options);

// The objects of a story.
std::string QueueName(int index);
std::string WorkloadName(int index);
api::Namespace MakeNamespace(const Story& story);
std::vector<api::ResourceFlavor> MakeFlavors(const Story& story);
api::Cohort MakeCohort(const Story& story, int index);
api::ClusterQueue MakeClusterQueue(const Story& story, int index);
api::LocalQueue MakeLocalQueue(const Story& story, int index);
api::Workload MakeWorkload(const Story& story, const Event& event, int index);
admission::SchedulerConfig ConfigOf(const Story& story);

}  // namespace berth::support
