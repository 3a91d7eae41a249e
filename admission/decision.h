// admission/decision.h — a cycle's decision on one head, with the reasons, as data. Text is made by
// admission/messages.h; explaining a decision recomputes nothing.
//
// Flavors and resources are numbers of the Vocabulary that the cycle used.
// Threads: data. Errors: none.
// Units: amounts of the resource's smallest unit; borrow heights in levels of the cohort tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "admission/quota/flavor_resources.h"
#include "admission/quota/quota_tree.h"
#include "admission/topology/placed_pods.h"
#include "api/labels.h"
#include "api/pod.h"
#include "api/workload.h"
#include "queue/names.h"
#include "queue/queue_set.h"
#include "queue/workload_info.h"

namespace berth::admission {

using queue::ClusterQueueId;
using queue::ResourceRequest;
using queue::WorkloadId;

struct Vocabulary {
  queue::Names resources;
  queue::Names flavors;
  FlavorResources flavor_resources;
  // Resources with rules of their own.
  ResourceId pods = resources.Intern("pods");
  ResourceId gpus = resources.Intern(api::kGpusResource);
};

// The degrees to which an assignment, or one flavor of it, fits, from worst to best.
enum class AssignmentMode : std::uint8_t {
  kNoFit,
  kPreempt,      // fits the nominal quota after preemptions; candidates may be missing
  kDeferredFit,  // fits once preemptions issued in this cycle have completed
  kFit,
};

// The answer of the preemption search about one flavor.
enum class PreemptionPossibility : std::uint8_t { kNoCandidates, kPreempt, kReclaim };

// The reasons why no flavor fits, from the mildest to the most severe.
enum class NoFitReason : std::uint8_t {
  kNone,
  kTopologyPlacementFailed,
  kWaitingForQuota,
  kExceedsMaxQuota,
  kNoMatchingFlavor,
};

// One reason for which a flavor does not serve a pod set.
struct Obstacle {
  enum class Kind : std::uint8_t {
    kResourceUnavailable,  // no resource group of the queue has `resource`
    kFlavorNotFound,
    kUntoleratedTaint,  // `taint()`
    kAffinityMismatch,
    kExceedsMaximum,     // assumed + requested > limit, the potential of the queue
    kInsufficientQuota,  // assumed + requested > limit, the available quota
    kNotNominated,       // a second assignment in a cycle: another flavor was nominated
    kTopology,           // `text()`
    kTopologyError,      // `text()` is the whole message
    kOfAnotherSlice,     // the slice that the workload replaces has another flavor; `text()`
    kUsedUp,             // a provisioning policy has asked for this flavor in vain
    kTooManyShares,      // a pod asks for `requested`; the flavor gives a pod at most `limit`
  };
  Kind kind = Kind::kInsufficientQuota;
  bool in_message = true;  // false: a better flavor was found
  ResourceId resource = -1;
  FlavorId flavor = -1;
  Amount assumed = 0;    // requested by earlier pod sets of the workload
  Amount requested = 0;  // requested by this pod set
  Amount limit = 0;

  void SetTaint(std::shared_ptr<const api::Taint> taint) { detail_ = std::move(taint); }
  void SetText(std::string text) { detail_ = std::make_shared<const std::string>(std::move(text)); }
  // Precondition: the kind is one that has a taint.
  const api::Taint& taint() const { return *static_cast<const api::Taint*>(detail_.get()); }
  const std::string& text() const { return *static_cast<const std::string*>(detail_.get()); }

  Amount missing() const {
    return api::SubtractAmounts(api::AddAmounts(assumed, requested), limit);
  }

 private:
  // One pointer for rare details keeps obstacles small: a cycle makes and moves thousands.
  std::shared_ptr<const void> detail_;
};

// One flavor that was tried for a pod set, with the worst outcome over its resources.
struct FlavorAttempt {
  FlavorId flavor = -1;
  AssignmentMode mode = AssignmentMode::kNoFit;
  std::optional<PreemptionPossibility> preemption;
  std::int32_t borrow_height = 0;
  NoFitReason no_fit_reason = NoFitReason::kNone;
};

struct FlavorChoice {
  ResourceId resource = -1;
  FlavorId flavor = -1;
  FlavorResourceId flavor_resource = -1;
  AssignmentMode mode = AssignmentMode::kFit;
  std::int32_t borrow_height = 0;
  std::int32_t tried_index = 0;  // index of the flavor tried last; -1: the scan reached the end
};

struct PodSetDecision {
  std::string name;
  std::int32_t count = 0;
  queue::Requests requests;              // the sum of all `count` pods
  SmallVector<FlavorChoice, 2> flavors;  // by resource name; empty: no flavor found
  SmallVector<Obstacle, 1> obstacles;    // the obstacles of all attempts
  SmallVector<FlavorAttempt, 1> attempts;
  std::shared_ptr<const api::TopologyAssignment> topology;  // null: none
  // The domains of the slice that the workload replaces: pods in these domains stay there, and only
  // further pods are placed. Null: the workload replaces no slice with domains.
  std::shared_ptr<const api::TopologyAssignment> kept_topology;
  std::string_view delayed_topology;  // "", Pending, Ready: status' delayedTopologyRequest

  bool HasMessage() const;  // some obstacle has in_message
  AssignmentMode Mode() const;
};

// The position from which the next attempt continues the scan over flavors.
struct ScanState {
  struct Position {
    std::int32_t pod_set = 0;
    ResourceId resource = -1;
    std::int32_t tried_index = -1;
    friend bool operator==(const Position&, const Position&) = default;
  };
  using Positions = SmallVector<Position, 2>;
  Positions positions;
  std::int64_t changes_seen = 0;  // Catalogue::changes at the time of the scan
  std::int64_t begun_at = 0;      // Catalogue::changes when the first flavor was tried
  std::int32_t attempts = 0;      // attempts since the first flavor was tried
  // The positions of the last attempt whose number is a power of two. If the positions repeat, they
  // reach the marked ones again (Brent's search for a cycle).
  Positions mark;
  std::int64_t marked_at = 0;  // Catalogue::changes when `mark` was set
  std::int64_t cycle = 0;
  std::uint64_t shape = 0;

  bool HasPendingFlavors() const;
  // Sets the mark of this attempt, which continued the scan of `before`.
  void Mark(const ScanState& before);
  void Mark();  // marks a first attempt
  std::int32_t NextToTry(std::int32_t pod_set, ResourceId resource) const;
};

struct Assignment {
  SmallVector<PodSetDecision, 1> pod_sets;
  std::int32_t borrow_height = 0;  // the height of the smallest subtree that has to lend; 0: none
  AssignmentMode mode = AssignmentMode::kNoFit;
  NoFitReason no_fit_reason = NoFitReason::kNone;
  Usage usage;
  ScanState scan;

  void Clear();
};

// The reasons to preempt a victim, as in the condition Preempted.
enum class PreemptionReason : std::uint8_t {
  kInClusterQueue,
  kInCohortReclamation,
  kInCohortFairSharing,
  kInCohortReclaimWhileBorrowing,
  kTimeSliceExpired,  // policies/victim_rules.h
};
const char* ToString(PreemptionReason reason);
// The reason in the Preempted condition of a workload that is being preempted already.
std::optional<PreemptionReason> FirstReason(const api::Workload& victim);

// The flavor-resources of the assignment for which workloads have to be preempted.
SmallVector<FlavorResourceId, 2> ContestedBy(const Assignment& assignment);

struct Victim {
  WorkloadId workload = queue::kNoNode;
  std::shared_ptr<const api::Workload> object;
  ClusterQueueId cluster_queue = -1;
  PreemptionReason reason = PreemptionReason::kInClusterQueue;
  bool ongoing = false;  // its eviction began before this cycle
  // Until when the eviction waits for the end of the victim; nullopt: not.
  std::optional<WallTime> soon_done_at;
};

// A candidate that the search examined and did not take, or took and put back.
struct SparedCandidate {
  enum class Cause : std::uint8_t {
    kQueueWithinNominal,  // its queue, or a cohort above, is within nominal quota
    kNeedsNoBorrowing,    // preemptible only if the preemptor does not borrow
    kFairShare,           // the fair-sharing rules protect it
    kNotNeeded,           // put back: the preemptor fits without it
    kPolicy,              // the preemption policies exclude it
    kPreemptedIt,         // has preempted the preemptor, or was preempted in vain
    kHasJustBegun,        // has not run as long as its queue demands (policies/victim_rules.h)
    kWithinTimeSlice,     // an equal that its time slice protects (policies/victim_rules.h)
    kPutOff,              // its preemption waits: Remark::kPreemptionPutOff
    kJustAdmitted,        // its preemption waits: Remark::kVictimJustAdmitted
    kForeignOwner,        // no controller stops its job: SchedulerConfig::managed_owners
  };
  WorkloadId workload = queue::kNoNode;
  Cause cause = Cause::kNotNeeded;
};

inline constexpr std::size_t kMaxSpared = 8;
// The most candidates that are recorded with kPolicy, the least informative cause.
inline constexpr std::size_t kMaxSparedByPolicy = 4;
using SparedCandidates = SmallVector<SparedCandidate, kMaxSpared>;

enum class Outcome : std::uint8_t {
  kAdmitted,
  kQuotaReserved,  // checks are still open
  kPreempting,
  kDeferred,
  kSkipped,
  kNoCandidates,
  kNoFit,
  kNotNominated,
  kEvictForNodeFailure,  // second pass: no node replaces the failed ones
};
const char* ToString(Outcome outcome);

// A remark that the decision's text adds to the obstacles.
enum class Remark : std::uint8_t {
  kNone,
  kNoLongerFits,
  kOverlappingTargets,
  kFitsAfterPreemptions,
  kFailedChecks,
  kQueueInactive,
  kNamespaceMismatch,
  kRequestsAboveLimits,
  kWaitingForPodsReady,  // pods of a workload with quota are not ready
  kParkedComeFirst,      // a parked workload before it fits, and is about to be tried again
  kOwnersComeFirst,      // would borrow, and owners of the quota have more workloads to try
  kHeldForPreemptor,     // the quota is kept for `held_for`, which has preempted others for it
  kPlaceIsKept,       // it would delay `held_for`, for which the queue keeps a place at `remark_at`
  kPreemptionPutOff,  // waits until `remark_at`: its victims would lose too much work
  // Waits until `remark_at`: a victim was admitted less than a minute ago.
  kVictimJustAdmitted,
};

// The course of the target search where an earlier entry of the cycle had taken targets.
enum class TargetSearch : std::uint8_t {
  kOnce,         // no target was taken: one search
  kDeferredFit,  // no second search: fits once the taken targets have stopped
  kNewTargets,   // a second search found other targets
  kSkipped,      // a second search found none
};

struct Decision {
  WorkloadId workload = queue::kNoNode;
  std::shared_ptr<const api::Workload> object;  // the Workload that was decided on
  ClusterQueueId cluster_queue = -1;
  Outcome outcome = Outcome::kNotNominated;
  Remark remark = Remark::kNone;
  Assignment assignment;
  SmallVector<Victim, 1> victims;  // kPreempting: they are evicted; other outcomes: they are not
  SparedCandidates spared;         // at most kMaxSpared
  TargetSearch target_search = TargetSearch::kOnce;
  // The slice that ends with the admission, and whose quota `assignment.usage` lacks; null: none.
  std::shared_ptr<const api::Workload> replaces;
  // The preemptor whose claim is kept, or the workload whose place is kept; null: none.
  std::shared_ptr<const api::Workload> held_for;
  WallTime remark_at{};             // the instant that the text of `remark` names
  std::vector<std::string> checks;  // checks that an admitted workload has to pass
  // The workload has quota already; the cycle chose nodes alone
  // (admission/topology/node_inventory.h).
  bool second_pass = false;
  bool keeps_plan = false;  // decided with the assignment of its PreemptionPlan
  queue::RequeueReason requeue_reason = queue::RequeueReason::kGeneric;
  queue::Destination to = queue::Destination::kNone;
};

// Whether the Workload of the decision has quota after the decision. A Workload in a second pass
// had quota already.
bool GivesQuota(const Decision& decision);

// The quota and nodes for which a workload has preempted, kept for the workload until it is
// admitted: see OwnRules::preemptor_keeps_what_it_freed.
struct PreemptionPlan {
  // The quota and nodes that a victim held at its eviction.
  struct Freed {
    WorkloadId victim = queue::kNoNode;
    std::string uid;  // UID of the victim
    ClusterQueueId cluster_queue = -1;
    Usage usage;
    std::vector<PlacedPods> placed;
  };
  Assignment assignment;               // set are: counts and flavors of pod sets, height, mode
  SmallVector<WorkloadId, 2> victims;  // victims that have not stopped yet
  std::vector<Freed> freed;            // usage of all victims, stopped ones too
  WallTime progress_at{};              // when a victim last released quota
  Amount still_held = -1;              // held by victims at `progress_at`, summed over resources
};
PreemptionPlan PlanOf(const Decision& decision);
// Whether two assignments have the same flavors and counts.
bool SameChoice(const Assignment& a, const Assignment& b);

// The decisions of one cycle, in an order that is found while they are made. Decisions are large
// and are never moved: the order is a list of pointers.
class DecisionList {
 public:
  // Iterates over the listed decisions in order.
  template <typename Pointer, typename Reference>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Decision;
    using difference_type = std::ptrdiff_t;
    using pointer = std::remove_reference_t<Reference>*;
    using reference = Reference;

    Iterator() = default;
    explicit Iterator(Pointer at) : at_(at) {}
    Reference operator*() const { return **at_; }
    pointer operator->() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    Pointer at_ = nullptr;
  };
  using iterator = Iterator<Decision* const*, Decision&>;
  using const_iterator = Iterator<Decision* const*, const Decision&>;
  using value_type = Decision;

  DecisionList() = default;
  DecisionList(const DecisionList& other) { *this = other; }
  DecisionList(DecisionList&&) noexcept = default;
  DecisionList& operator=(const DecisionList& other);
  DecisionList& operator=(DecisionList&&) noexcept = default;
  ~DecisionList() = default;

  // Drops all decisions and reserves memory for `count` new ones.
  void Reset(std::size_t count);
  // Makes a decision that is not listed yet.
  Decision& Make() { return made_.emplace_back(); }
  void List(Decision& made) { listed_.push_back(&made); }

  std::size_t size() const { return listed_.size(); }
  bool empty() const { return listed_.empty(); }
  Decision& operator[](std::size_t index) { return *listed_[index]; }
  const Decision& operator[](std::size_t index) const { return *listed_[index]; }
  iterator begin() { return iterator(listed_.data()); }
  iterator end() { return iterator(listed_.data() + listed_.size()); }
  const_iterator begin() const { return const_iterator(listed_.data()); }
  const_iterator end() const { return const_iterator(listed_.data() + listed_.size()); }

 private:
  std::vector<Decision> made_;  // every cycle reuses the memory
  std::vector<Decision*> listed_;
};

struct CycleResult {
  std::int64_t cycle = 0;
  DecisionList decisions;  // in processing order, then heads never nominated, by name
  struct Parked {
    WorkloadId workload = queue::kNoNode;
    std::size_t like = 0;  // index in `decisions` of the equal workload that was tried
  };
  std::vector<Parked> bulk_parked;  // those that SchedulerConfig::listing selects
  int refused_parked = 0;           // heads whose pods the API server would refuse; no decisions
};

}  // namespace berth::admission
