// admission/decision.h — what a cycle decided about one head, and why, as data. Text is made of it
// at the edge (admission/messages.h); nothing is recomputed to explain.
//
// Flavors and resources are numbers of the Vocabulary that the decision was made with.
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

#include "admission/quota_tree.h"
#include "admission/topology/placed_pods.h"
#include "api/pod.h"
#include "api/workload.h"
#include "queue/names.h"
#include "queue/queue_set.h"
#include "queue/workload_info.h"

namespace berth::admission {

using queue::ClusterQueueId;
using queue::ResourceId;
using queue::ResourceRequest;
using queue::WorkloadId;
using FlavorId = std::int32_t;

struct Vocabulary {
  queue::Names resources;
  queue::Names flavors;
};

// How an assignment, or one flavor in it, can be had. From worst to best.
enum class AssignmentMode : std::uint8_t {
  kNoFit,
  kPreempt,      // within quota, once others have made room (who may be: nobody)
  kDeferredFit,  // once preemptions issued in this cycle have completed
  kFit,
};

// What the search for victims said about one flavor.
enum class PreemptionPossibility : std::uint8_t { kNoCandidates, kPreempt, kReclaim };

// Why nothing fits, from the mildest to the most severe.
enum class NoFitReason : std::uint8_t {
  kNone,
  kTopologyPlacementFailed,
  kWaitingForQuota,
  kExceedsMaxQuota,
  kNoMatchingFlavor,
};

// One thing that stands between a pod set and a flavor.
struct Obstacle {
  enum class Kind : std::uint8_t {
    kResourceUnavailable,  // no resource group of the queue has `resource`
    kFlavorNotFound,
    kUntoleratedTaint,  // `taint()`
    kAffinityMismatch,
    kExceedsMaximum,     // assumed + requested > limit, the most the queue can ever have
    kInsufficientQuota,  // assumed + requested > limit, what is unused now
    kNotNominated,       // the flavor was not the nominated one; only when assigned anew in a cycle
    kTopology,           // `text()`
    kTopologyError,      // `text()`; says it all
  };
  Kind kind = Kind::kInsufficientQuota;
  bool in_message = true;  // false: of a flavor that was passed over for a better one
  ResourceId resource = -1;
  FlavorId flavor = -1;
  Amount assumed = 0;    // by earlier pod sets of this workload
  Amount requested = 0;  // by this one
  Amount limit = 0;

  void SetTaint(std::shared_ptr<const api::Taint> taint) { detail_ = std::move(taint); }
  void SetText(std::string text) { detail_ = std::make_shared<const std::string>(std::move(text)); }
  // Only of the kinds that say so.
  const api::Taint& taint() const { return *static_cast<const api::Taint*>(detail_.get()); }
  const std::string& text() const { return *static_cast<const std::string*>(detail_.get()); }

  Amount missing() const {
    return api::SubtractAmounts(api::AddAmounts(assumed, requested), limit);
  }

 private:
  // One pointer for what few have: obstacles are made, moved and kept by the thousand.
  std::shared_ptr<const void> detail_;
};

// A flavor that was tried for a pod set: its worst outcome over the resources.
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
  std::int32_t tried_index = 0;  // last flavor tried; -1: the scan reached the end
};

struct PodSetDecision {
  std::string name;
  std::int32_t count = 0;
  queue::Requests requests;              // of all `count` pods
  SmallVector<FlavorChoice, 2> flavors;  // by resource name; empty: none found
  SmallVector<Obstacle, 1> obstacles;    // of all attempts
  SmallVector<FlavorAttempt, 1> attempts;
  std::shared_ptr<const api::TopologyAssignment> topology;  // null: none
  std::string_view delayed_topology;  // "", Pending, Ready: status' delayedTopologyRequest

  bool HasMessage() const;  // some obstacle is in the message
  AssignmentMode Mode() const;
};

// Where the scan over flavors goes on in the next attempt.
struct ScanState {
  struct Position {
    std::int32_t pod_set = 0;
    ResourceId resource = -1;
    std::int32_t tried_index = -1;
  };
  SmallVector<Position, 2> positions;
  std::int64_t changes_seen = 0;  // ClusterState::changes when the flavors were tried
  std::int64_t cycle = 0;
  std::uint64_t shape = 0;

  bool HasPendingFlavors() const;
  std::int32_t NextToTry(std::int32_t pod_set, ResourceId resource) const;
};

struct Assignment {
  SmallVector<PodSetDecision, 1> pod_sets;
  std::int32_t borrow_height = 0;  // of the smallest subtree that has to lend; 0: none
  AssignmentMode mode = AssignmentMode::kNoFit;
  NoFitReason no_fit_reason = NoFitReason::kNone;
  Usage usage;
  ScanState scan;

  void Clear();
};

// Why a victim may be taken: the reasons of its Preempted condition.
enum class PreemptionReason : std::uint8_t {
  kInClusterQueue,
  kInCohortReclamation,
  kInCohortFairSharing,
  kInCohortReclaimWhileBorrowing,
};
const char* ToString(PreemptionReason reason);
// The reason in the Preempted condition of a workload that is being preempted already.
std::optional<PreemptionReason> FirstReason(const api::Workload& victim);

struct Victim {
  WorkloadId workload = queue::kNoNode;
  std::shared_ptr<const api::Workload> object;
  ClusterQueueId cluster_queue = -1;
  PreemptionReason reason = PreemptionReason::kInClusterQueue;
  bool ongoing = false;  // its eviction was under way before this cycle
};

// A candidate that was looked at and not taken, or taken and put back.
struct SparedCandidate {
  enum class Cause : std::uint8_t {
    kQueueWithinNominal,  // its queue, or a cohort above it, no longer borrows
    kNeedsNoBorrowing,    // may only go if the preemptor does not borrow
    kFairShare,           // the fair-sharing rules protect it
    kNotNeeded,           // put back: it fits without
    kPolicy,              // the queue's preemption policy does not reach it
    kPreemptedIt,         // it has what was taken from the preemptor, or was stopped in vain
    kForeignOwner,        // nothing here stops its job: SchedulerConfig::managed_owners
  };
  WorkloadId workload = queue::kNoNode;
  Cause cause = Cause::kNotNeeded;
};

inline constexpr std::size_t kMaxSpared = 8;
// Of these at most so many that only the policy spares: they say least.
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
  kEvictForNodeFailure,  // second pass: nothing replaces its failed nodes
};
const char* ToString(Outcome outcome);

// What the decision's text says beside the obstacles.
enum class Remark : std::uint8_t {
  kNone,
  kNoLongerFits,
  kOverlappingTargets,
  kFitsAfterPreemptions,
  kFailedChecks,
  kQueueInactive,
  kNamespaceMismatch,
  kRequestsAboveLimits,
  kWaitingForPodsReady,  // another has quota whose pods are not ready yet
  kHeldForPreemptor,     // `held_for` has preempted for it
};

// How the search for victims went where an earlier head of the cycle had taken the first ones.
enum class TargetSearch : std::uint8_t {
  kOnce,         // nobody had: one search
  kDeferredFit,  // it fits once those have stopped
  kNewTargets,   // others were found
  kSkipped,      // none were
};

struct Decision {
  WorkloadId workload = queue::kNoNode;
  std::shared_ptr<const api::Workload> object;  // as it was decided on
  ClusterQueueId cluster_queue = -1;
  Outcome outcome = Outcome::kNotNominated;
  Remark remark = Remark::kNone;
  Assignment assignment;
  SmallVector<Victim, 1>
      victims;              // with kPreempting the ones to evict, else computed, not acted on
  SparedCandidates spared;  // the first of them, at most kMaxSpared
  TargetSearch target_search = TargetSearch::kOnce;
  std::shared_ptr<const api::Workload> held_for;  // whose victims are to make room; null: nobody
  std::vector<std::string> checks;                // that an admitted workload has to pass
  // It has quota already and was looked at for its nodes alone
  // (admission/topology/node_inventory.h).
  bool second_pass = false;
  bool keeps_plan = false;  // decided for what it had preempted for (PreemptionPlan)
  queue::RequeueReason requeue_reason = queue::RequeueReason::kGeneric;
  queue::Destination to = queue::Destination::kNone;
};

// What a workload has preempted for: its own until it is admitted, see
// OwnRules::preemptor_keeps_what_it_freed.
struct PreemptionPlan {
  // What a victim held when it was told to stop.
  struct Freed {
    WorkloadId victim = queue::kNoNode;
    std::string uid;  // its own
    ClusterQueueId cluster_queue = -1;
    Usage usage;
    std::vector<PlacedPods> placed;
  };
  Assignment assignment;  // pod sets with counts and flavors, height, mode; nothing else
  SmallVector<WorkloadId, 2> victims;  // that still have to go
  std::vector<Freed> freed;            // by the victims, those that have gone among them
  WallTime progress_at{};              // when a victim last gave something back
  Amount still_held = -1;              // by the victims at that time, all resources together
};
PreemptionPlan PlanOf(const Decision& decision);
// Whether two assignments have the same flavors and counts.
bool SameChoice(const Assignment& a, const Assignment& b);

// The decisions of one cycle, in an order that is found while they are made: they are large, so
// they stay where they were made, and the order is one of pointers.
class DecisionList {
 public:
  // Over the listed ones, in order.
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

  // Forgets all; the next `count` that are made stay where they are.
  void Reset(std::size_t count);
  // Made, and not listed yet.
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
  std::vector<Decision> made_;  // its memory is used again in each cycle
  std::vector<Decision*> listed_;
};

struct CycleResult {
  std::int64_t cycle = 0;
  DecisionList decisions;  // in processing order, then the ones never nominated, by name
  struct Parked {
    WorkloadId workload = queue::kNoNode;
    std::size_t like = 0;  // in `decisions`: an equal one of its queue, and what it was told
  };
  std::vector<Parked> bulk_parked;  // those that SchedulerConfig::listing says
};

}  // namespace berth::admission
