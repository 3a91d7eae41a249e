// tests/faults/policy_edits.h — stories with a ProvisioningPolicy: a chain of two
// flavors, spot and on demand, whose stock comes and goes, and edits of the policy.
//
// Pure: equal random numbers give equal stories.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// What a story's policies may say beside their steps.
struct PolicyTraits {
  bool races = false;   // spot has two zones, and requests race over them
  bool reuses = false;  // idle nodes are used again; late pods and lost nodes are looked for
  bool budgets = false;
  bool divides = false;   // jobs that may be divided are asked for in parts
  bool splits = false;    // JobSets have pods of both pools, and a request for each
  bool prewarms = false;  // nodes stand in windows of time; needs reuses
  bool gangs = false;     // a queue beside: placeholders hold nodes of pools that only react
  bool holds = false;     // Workloads are held after the last step
  bool rejects = false;  // … or rejected, where a person has to act; a pool serves none for a while
  bool boots = false;    // nodes that boot for long are given up
  bool leaves = false;  // capacity has an end, and Workloads leave before; not with budgets
  bool keeps = false;   // nodes of a lost race serve others; needs races and reuses
  bool naps = false;    // nodes that stand in windows go when they are idle; needs prewarms
  bool weighs = false;  // spot is passed over while machines on demand are expected sooner
  bool reacts = false;  // the queue of gangs has no placeholders: its pods bring the nodes
  bool pays = false;    // … and has a budget; needs reacts
  std::uint64_t evict_after = 0;  // seconds until machines of that queue's first pool go; 0: never
};
PolicyTraits DrawTraits(Random& random);
// Adds those of the traits from `divides` on.
void DrawMoreTraits(Random& random, PolicyTraits& traits);
// Adds those from `holds` on.
void DrawEndTraits(Random& random, PolicyTraits& traits);
// Adds those from `keeps` on. `random` draws nothing else, so that the rest of a story stays.
void DrawWaitTraits(Random& random, PolicyTraits& traits);

// Adds those from `reacts` on, and gangs.
void DrawEvictTraits(Random& random, PolicyTraits& traits);

// Two queued pools with their flavors, a ClusterQueue with a check that follows a policy, jobs, and
// what happens to stock and policy. The machines on demand are in stock at the end, and no price
// limit or budget is left, so that every job can come to its end. `more` draws what the traits add:
// without traits a story depends on `random` alone.
void AddPolicy(Story& story, Random& random, const PolicyTraits& traits, Random& more);

// Whether AddPolicy has made a part of the story, and with which traits.
bool HasPolicy(const Story& story);
PolicyTraits TraitsOf(const Story& story);

}  // namespace berth::sim
