#include "tests/faults/elastic_edits.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/faults/jobs_maker.h"

namespace berth::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMostPods = 4;  // the limit of all jobs of stories
constexpr char kMark[] = " annotate=kueue.x-k8s.io/elastic-job=true";

class ElasticMaker : private JobsMaker {
 public:
  ElasticMaker(Story& story, Random& random) : JobsMaker(story, random) {}

  void Make() {
    if (queues_.empty()) return;
    const std::uint64_t jobs = 1 + random_.Below(2);
    for (std::uint64_t i = 0; i < jobs; ++i) MakeJob("elastic" + std::to_string(i));
  }

 private:
  std::string Size() { return std::to_string(1 + random_.Below(kMostPods)); }

  void MakeJob(const std::string& name) {
    const QueuePlace place = queues_[random_.Below(queues_.size())];
    const std::string path = place.space + "/" + name;
    const Duration at = Moment();
    std::string line = "job " + path + " queue=" + place.queue + " cpu=1 parallelism=" + Size() +
                       " completions=" + std::to_string(kMostPods + random_.Below(8)) +
                       " backoff-limit=1000 runs=" + std::to_string(5 + random_.Below(30)) + "s" +
                       kMark;
    if (OneIn(2)) line += " priority=" + std::to_string(1 + random_.Below(200));
    if (OneIn(5)) line += " stops=" + std::to_string(1 + random_.Below(20)) + "s";
    At(at, line);
    const std::uint64_t sizes = 1 + random_.Below(6);
    for (std::uint64_t i = 0; i < sizes; ++i) {
      const Duration later = at + milliseconds(random_.Below(70'000));
      At(later, "set job " + path + " parallelism=" + Size());
      if (i == 0 && OneIn(3)) Strike(later + milliseconds(random_.Below(1'500)));
    }
    Meddle(path, at);
  }

  // What users do to it.
  void Meddle(const std::string& path, Duration at) {
    const Duration later = at + milliseconds(random_.Below(60'000));
    switch (random_.Below(8)) {
      case 0: return At(later, "delete job " + path);
      case 1: return At(later, "delete workload of " + path);
      case 2: return At(later, "set job " + path + " suspend=true");
      case 3: {
        At(later, "set workload of " + path + " active=false");
        return At(later + milliseconds(500 + random_.Below(40'000)),
                  "set workload of " + path + " active=true");
      }
      default: return;
    }
  }

  // A fault that meets the slices of a job whose size has just changed.
  void Strike(Duration at) {
    switch (random_.Below(4)) {
      case 0: {
        Blow crash{.kind = Blow::Kind::kCrash, .at = at};
        crash.count = 1 + static_cast<std::int64_t>(random_.Below(6));
        crash.write_happens = OneIn(2);
        crash.span = OneIn(2) ? milliseconds(1) : milliseconds(random_.Below(20'000));
        return story_.blows.push_back(crash);
      }
      case 1: {
        Blow stall{.kind = Blow::Kind::kStallWatches, .at = at};
        stall.span = milliseconds(500 + random_.Below(20'000));
        return story_.blows.push_back(stall);
      }
      case 2: {
        story_.blows.push_back({.kind = Blow::Kind::kBreakWatches, .at = at});
        return Fail(at, FaultSpan::Requests::kReads, Fault::kUnavailable, "?");
      }
      default: return Fail(at, FaultSpan::Requests::kWrites, Fault::kLostAnswer, "");
    }
  }

  void Fail(Duration at, FaultSpan::Requests requests, Fault fault, const std::string& end) {
    constexpr std::array kKinds{"/workloads", "/jobs", "/pods"};
    FaultSpan span{.at = at, .fault = fault, .requests = requests};
    span.length = milliseconds(1'000 + random_.Below(30'000));
    span.per_mille = OneIn(2) ? 1000 : 400;
    span.path = kKinds[random_.Below(kKinds.size())] + end;
    span.seed = random_.Next();
    story_.faults.push_back(std::move(span));
  }
};

}  // namespace

void AddElastic(Story& story, Random& random) { ElasticMaker(story, random).Make(); }

bool HasElastic(const Story& story) {
  return std::any_of(story.events.begin(), story.events.end(), [](const StoryEvent& event) {
    return event.line.find(kMark) != std::string::npos;
  });
}

}  // namespace berth::sim
