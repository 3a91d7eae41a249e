// Goal: elastic Jobs keep quota and lose no pods under faults: a pod is charged once, a job ends
// with the slices of its present size, and as many pods run as its slice has. Method: random sizes
// of two elastic Jobs beside plain ones, in the whole of `berth up` in virtual time, with the
// faults of fault_maker.h; the Workloads are summed at every write, pods and slices compared at
// rest.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/labels.h"
#include "base/log/log.h"
#include "base/random.h"
#include "scenarios/actions.h"
#include "scenarios/script.h"
#include "scenarios/short_forms.h"
#include "scenarios/world/sim_world.h"
#include "tests/faults/fault_maker.h"
#include "tests/faults/saboteur.h"

namespace berth::sim {
namespace {

using local::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kSeeds = 60;
constexpr std::int64_t kQuota = 8;
constexpr Duration kPatience = seconds(75);  // for facts of a moment ago, with faults

bool IsTrue(const Json& object, const char* type) {
  const Json::json_pointer place("/status/conditions");
  if (!object.contains(place)) return false;
  const Json& conditions = object.at(place);
  return std::any_of(conditions.begin(), conditions.end(), [type](const Json& each) {
    return each.value("type", "") == type && each.value("status", "") == "True";
  });
}

std::string Annotation(const Json& object, const char* key) {
  const Json::json_pointer place("/metadata/annotations");
  return object.contains(place) ? object.at(place).value(key, "") : "";
}

std::string OwnerOf(const Json& object) {
  const Json::json_pointer place("/metadata/ownerReferences/0/name");
  return object.contains(place) ? object.at(place).get<std::string>() : "";
}

bool HoldsQuota(const Json& workload) {
  return IsTrue(workload, "QuotaReserved") && !IsTrue(workload, "Finished");
}

std::int64_t CountOf(const Json& workload) {
  return workload.at("spec").at("podSets").at(0).at("count").get<std::int64_t>();
}

Story MakeElasticStory(std::uint64_t seed) {
  Random random(seed);
  Story story;
  story.seed = seed;
  story.length = seconds(240);
  story.setup = {"node big cpu=64", "flavor default",
                 "cluster-queue team within=LowerPriority default/cpu=" + std::to_string(kQuota),
                 "local-queue q -> team"};
  const auto moment = [&] { return milliseconds(random.Below(240'000)); };
  for (int job = 0; job < 2; ++job) {
    const std::string name = "e" + std::to_string(job);
    story.events.push_back(
        {seconds(1 + job), "job " + name +
                               " queue=q cpu=1 parallelism=" + std::to_string(1 + random.Below(4)) +
                               " completions=1000 runs=9h priority=" + std::to_string(job) +
                               " annotate=kueue.x-k8s.io/elastic-job=true"});
    const std::uint64_t sizes = 3 + random.Below(10);
    for (std::uint64_t i = 0; i < sizes; ++i) {
      story.events.push_back({seconds(3) + moment(), "set job " + name + " parallelism=" +
                                                         std::to_string(1 + random.Below(7))});
    }
  }
  for (int job = 0; job < 4; ++job) {
    story.events.push_back(
        {moment(), "job p" + std::to_string(job) +
                       " queue=q cpu=" + std::to_string(1 + random.Below(3)) +
                       " priority=" + std::to_string(random.Below(3)) +
                       " backoff-limit=1000 runs=" + std::to_string(5 + random.Below(60)) + "s"});
  }
  std::stable_sort(story.events.begin(), story.events.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  AddFaults(story, random);
  return story;
}

class ElasticEpisode {
 public:
  ElasticEpisode(const Story& story, SimWorld& world)
      : story_(story), world_(world), saboteur_(story, world, nullptr) {
    listener_ = world.store().AddListener([this](const std::vector<local::EventPtr>& events) {
      for (const local::EventPtr& event : events) See(*event);
    });
  }
  ~ElasticEpisode() {
    world_.store().RemoveListener(listener_);
    world_.controllers().SetFault(nullptr);
  }
  ElasticEpisode(const ElasticEpisode&) = delete;
  ElasticEpisode& operator=(const ElasticEpisode&) = delete;

  void Run() {
    for (const std::string& line : story_.setup) Do(line);
    saboteur_.Begin();
    const SteadyTime start = world_.clock().SteadyNow();
    for (const StoryEvent& event : story_.events) {
      const Duration left = start + event.at - world_.clock().SteadyNow();
      if (left > Duration::zero()) world_.RunFor(left);
      Do(event.line);
    }
    world_.RunFor(seconds(30));
    saboteur_.End();
    world_.RunFor(std::chrono::minutes(15));
    CheckRest();
  }

 private:
  using Objects = std::map<std::string, Json>;  // by name

  // Lines about objects that a fault has removed do nothing.
  void Do(const std::string& line) {
    const auto script = scenarios::ParseScript("# name: x\n" + line + "\n");
    ASSERT_TRUE(script) << line;
    if (scenarios::Act(world_, script->steps.front())) return;
    const auto objects = scenarios::MakeObjects(script->steps.front());
    ASSERT_TRUE(objects && *objects) << line;
    for (const Json& object : **objects) {
      // The user tries again while the webhooks do not answer.
      bool applied = static_cast<bool>(world_.ApplyOne(object));
      for (int i = 0; i < 60 && !applied; ++i) {
        world_.RunFor(seconds(1));
        applied = static_cast<bool>(world_.ApplyOne(object));
      }
      ASSERT_TRUE(applied) << line;
      if (!object.contains("status")) continue;
      const auto kind = world_.FindKind(object["kind"].get<std::string>());
      ASSERT_TRUE(world_.api().Patch(kind->id, "", object["metadata"]["name"].get<std::string>(),
                                     local::PatchType::kMerge, {{"status", object["status"]}},
                                     {.field_manager = "story", .subresource = "status"}));
    }
  }

  void See(const local::StoreEvent& event) {
    const local::ObjectKey& where = event.object->key();
    Objects* objects = where.resource == "workloads.kueue.x-k8s.io" ? &workloads_
                       : where.resource == "pods"                   ? &pods_
                       : where.resource == "jobs.batch"             ? &jobs_
                                                                    : nullptr;
    if (objects == nullptr) return;
    if (event.type == local::WatchEvent::Type::kDeleted) {
      objects->erase(where.name);
    } else if (const local::Object object = event.object->json()) {
      (*objects)[where.name] = *object;
    }
    if (objects == &workloads_) CheckQuota();
  }

  bool IsReplaced(const std::string& name) const {
    return std::any_of(workloads_.begin(), workloads_.end(), [&name](const auto& other) {
      return HoldsQuota(other.second) &&
             Annotation(other.second, api::kSliceReplacementForAnnotation) == "default/" + name;
    });
  }

  std::int64_t Charged() const {
    std::int64_t sum = 0;
    for (const auto& [name, workload] : workloads_) {
      if (!HoldsQuota(workload) || IsReplaced(name)) continue;
      const std::string cpu = workload.at("spec")
                                  .at("podSets")
                                  .at(0)
                                  .at("template")
                                  .at("spec")
                                  .at("containers")
                                  .at(0)
                                  .at("resources")
                                  .at("requests")
                                  .at("cpu");
      sum += CountOf(workload) * std::stoll(cpu);
    }
    return sum;
  }

  void CheckQuota() {
    const SteadyTime now = world_.clock().SteadyNow();
    const std::int64_t charged = Charged();
    if (charged <= kQuota) {
      over_since_.reset();
      return;
    }
    if (!over_since_) over_since_ = now;
    const bool calm = story_.faults.empty() && story_.blows.empty();
    if (calm || now - *over_since_ > kPatience) {
      ADD_FAILURE() << charged << " of " << kQuota << " are charged";
    }
  }

  void CheckRest() {
    EXPECT_LE(Charged(), kQuota);
    for (const char* name : {"e0", "e1"}) {
      SCOPED_TRACE(name);
      ASSERT_EQ(jobs_.count(name), 1U);
      CheckJobAtRest(name, jobs_.at(name));
    }
  }

  void CheckJobAtRest(const std::string& name, const Json& job) {
    const Json* head = nullptr;
    const Json* pending = nullptr;
    for (const auto& [key, workload] : workloads_) {
      if (OwnerOf(workload) != name || IsTrue(workload, "Finished")) continue;
      const Json*& place = HoldsQuota(workload) ? head : pending;
      EXPECT_EQ(place, nullptr) << "two slices: " << key;
      place = &workload;
    }
    std::int64_t ungated = 0;
    std::int64_t gated = 0;
    for (const auto& [key, pod] : pods_) {
      const std::string phase = pod.at("status").value("phase", "");
      if (OwnerOf(pod) != name || phase == "Succeeded" || phase == "Failed") continue;
      bool waits = false;
      for (const Json& gate : pod.at("spec").value("schedulingGates", Json::array())) {
        waits = waits || gate.at("name") == api::kElasticJobGate;
      }
      ++(waits ? gated : ungated);
    }
    const std::int64_t size = job.at("spec").at("parallelism").get<std::int64_t>();
    if (head == nullptr) {
      EXPECT_TRUE(job.at("spec").value("suspend", false));
      EXPECT_EQ(ungated + gated, 0);
      ASSERT_NE(pending, nullptr);
      EXPECT_EQ(CountOf(*pending), size);
      return;
    }
    EXPECT_FALSE(job.at("spec").value("suspend", false));
    EXPECT_EQ(ungated, CountOf(*head));
    EXPECT_EQ(gated, size - CountOf(*head));
    if (CountOf(*head) != size) {
      ASSERT_NE(pending, nullptr);
      EXPECT_EQ(CountOf(*pending), size);
    } else {
      EXPECT_EQ(pending, nullptr);
    }
  }

  const Story& story_;
  SimWorld& world_;
  Saboteur saboteur_;
  int listener_ = 0;
  Objects workloads_;
  Objects pods_;
  Objects jobs_;
  std::optional<SteadyTime> over_since_;
};

TEST(ElasticFaults, StoriesChargeEveryPodOnceAndSlicesFollowTheJob) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Story story = MakeElasticStory(seed);
    SCOPED_TRACE(Tell(story));
    SimWorldOptions options;
    options.seed = seed;
    const auto world = SimWorld::Start(options);
    ASSERT_TRUE(world);
    ElasticEpisode(story, **world).Run();
    if (::testing::Test::HasFailure()) {
      FAIL() << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace berth::sim

int main(int argc, char** argv) {
  berth::ConfigureLog(berth::LogLevel::kError);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
