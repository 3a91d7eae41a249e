// Goal: no workload that starts delays a place. Method: random jobs on one queue that end by their
// declared maxima; each workload starts no later than the first instant that its place had.
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/queue_policy.h"
#include "base/random.h"
#include "tests/support/core_fixture.h"

namespace berth::admission {
namespace {

using std::chrono::minutes;
using support::KeyOf;
using support::MakeJob;
using support::MakeQueue;
using support::TableWorld;

constexpr int kGpus = 16;
constexpr int kJobs = 120;
// Events of one second are told apart by the world's milliseconds.
constexpr Duration kSlack = std::chrono::seconds(2);

class Story {
 public:
  Story(std::uint64_t seed, const char* order) : random_(seed) {
    api::ClusterQueue queue = MakeQueue("q", "", {{"f", {{"gpu", kGpus}}}});
    queue.meta.annotations = {{api::kOrderAnnotation, order}, {api::kReserveAfterAnnotation, "2h"}};
    world_ = std::make_unique<TableWorld>(std::vector<std::string>{"f"}, std::vector{queue});
  }

  // Returns how many places were kept.
  std::size_t Play() {
    WallTime next = world_->now();
    for (int i = 0; i < kJobs || !ends_.empty(); ++i) {
      next += minutes(random_.Below(20));
      while (!ends_.empty() && (i >= kJobs || ends_.begin()->first <= next)) EndOne();
      if (i >= kJobs) continue;
      world_->SetTime(std::max(next, world_->now()));
      Submit("j" + std::to_string(i));
      Decide();
    }
    return first_at_.size();
  }

 private:
  void Submit(const std::string& name) {
    const bool wide = random_.Below(6) == 0;
    api::Workload job =
        MakeJob(name, "q", wide ? 12 : static_cast<int>(1 + random_.Below(4)), {{"gpu", 1}});
    const auto most = static_cast<std::int32_t>(600 + random_.Below(36'000));
    job.spec.maximum_execution_time_seconds = most;
    most_[name] = most;
    world_->Apply(job);
  }

  void EndOne() {
    const auto [at, name] = *ends_.begin();
    ends_.erase(ends_.begin());
    world_->SetTime(std::max(at, world_->now()));
    world_->Finish(KeyOf(name));
    world_->WakeUp();
    Decide();
  }

  void Decide() {
    while (world_->HasHeads()) {
      world_->Cycle();
      for (const KeptPlace& place : world_->scheduler().kept_places().places()) {
        first_at_.emplace(place.object->meta.name, place.at);
      }
      bool any = false;
      for (const Decision& decision : world_->last().decisions) {
        if (decision.outcome != Outcome::kAdmitted) continue;
        any = true;
        Start(decision.object->meta.name);
      }
      if (any) world_->WakeUp();
    }
  }

  void Start(const std::string& name) {
    const auto place = first_at_.find(name);
    if (place != first_at_.end()) {
      EXPECT_LE(world_->now(), place->second + kSlack) << name;
    }
    const auto most = static_cast<std::uint64_t>(most_.at(name));
    const auto ran = std::chrono::seconds(1 + random_.Below(most - 1));
    ends_.emplace(world_->now() + ran, name);
  }

  Random random_;
  std::unique_ptr<TableWorld> world_;
  std::map<std::string, std::int32_t> most_;
  std::multimap<WallTime, std::string> ends_;
  std::map<std::string, WallTime> first_at_;  // since when each place was kept at first
};

TEST(KeptPlacesProperty, NoStartedWorkloadDelaysAKeptPlace) {
  std::size_t places = 0;
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    for (const char* order : {"Fifo", "ShortestFirst"}) {
      SCOPED_TRACE(std::string(order) + ", seed " + std::to_string(seed));
      places += Story(seed, order).Play();
    }
  }
  EXPECT_GT(places, 100U);
}

}  // namespace
}  // namespace berth::admission
