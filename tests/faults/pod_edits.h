// tests/faults/pod_edits.h — queued pods and pod groups in stories. Each pod names its
// set (pod_play.h), which makes a new pod when one fails or is deleted.
//
// Pure: the same seed gives the same lines.
#pragma once

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

// Adds the framework, pods and groups in the story's LocalQueues, and what users do to them.
void AddPods(Story& story, Random& random);

}  // namespace berth::sim
