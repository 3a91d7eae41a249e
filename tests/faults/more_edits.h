// tests/faults/more_edits.h — parts that only some stories have: edits of pod templates,
// prebuilt Workloads, and a second topology.
//
// Pure: equal random numbers give equal stories.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Labels, annotations, node selectors and tolerations of jobs' templates change, before a job is
// started, while it runs (which is refused) and while it is being stopped.
void EditTemplates(Story& story, Random& random);

// One or two jobs name a Workload of their own (kueue.x-k8s.io/prebuilt-workload-name), which comes
// before the job or after it.
void AddPrebuilt(Story& story, Random& random);

// Nodes in zones, a topology and a flavor of them, a ClusterQueue of that flavor (and of the racks'
// where there are racks), and jobs that ask for a zone or a host.
void AddZones(Story& story, Random& random);

}  // namespace berth::sim
