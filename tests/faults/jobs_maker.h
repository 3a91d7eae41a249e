// tests/faults/jobs_maker.h — what the makers of one kind of jobs in a story share.
//
// Pure. Threads: one.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/random.h"
#include "tests/faults/story.h"

namespace berth::sim {

class JobsMaker {
 protected:
  using Json = nlohmann::json;

  // Needs story.setup and story.length.
  JobsMaker(Story& story, Random& random)
      : story_(story), random_(random), queues_(LocalQueuesOf(story)) {}

  bool OneIn(std::uint64_t count) { return random_.Below(count) == 0; }
  // An instant of the story.
  Duration Moment() {
    using std::chrono::milliseconds;
    return milliseconds(random_.Below(static_cast<std::uint64_t>(
        std::chrono::duration_cast<milliseconds>(story_.length).count())));
  }
  void At(Duration at, std::string line) { story_.events.push_back({at, std::move(line)}); }
  void Apply(Duration at, const Json& object) { At(at, "apply <<EOF\n" + object.dump() + "\nEOF"); }

  Story& story_;
  Random& random_;
  const std::vector<QueuePlace> queues_;
};

}  // namespace berth::sim
