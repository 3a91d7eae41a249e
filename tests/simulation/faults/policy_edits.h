// tests/simulation/faults/policy_edits.h — stories with a ProvisioningPolicy: a chain of two
// flavors, spot and on demand, whose stock comes and goes, and edits of the policy.
//
// Pure: equal random numbers give equal stories.
#pragma once

#include "base/random.h"
#include "tests/simulation/faults/story.h"

namespace berth::sim {

// Two queued pools with their flavors, a ClusterQueue with a check that follows a policy, jobs, and
// what happens to stock and policy. The machines on demand are in stock at the end, so that every
// job can come to its end.
void AddPolicy(Story& story, Random& random);

// Whether AddPolicy has made a part of the story.
bool HasPolicy(const Story& story);

}  // namespace berth::sim
