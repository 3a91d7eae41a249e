// Goal: a rollout stays within its limits, whatever the sizes.
// Method: the test plays the ReplicaSets: each round performs the plan and makes some pods ready.
#include "local/cluster/replicas/deployment_plan.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/replicas/rollout_numbers.h"

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;

const WallTime kStart = *ParseTime("2026-11-22T10:00:00Z");

// Plays an API server and the ReplicaSet controller.
class World {
 public:
  explicit World(std::int64_t replicas, const Json& spec = Json::object()) {
    deployment_ = {
        {"apiVersion", "apps/v1"},
        {"kind", "Deployment"},
        {"metadata", {{"name", "web"}, {"namespace", "n"}, {"uid", "u"}, {"generation", 1}}},
        {"spec",
         {{"replicas", replicas},
          {"selector", {{"matchLabels", {{"app", "web"}}}}},
          {"revisionHistoryLimit", 10},
          {"progressDeadlineSeconds", 600},
          {"strategy",
           {{"type", "RollingUpdate"},
            {"rollingUpdate", {{"maxSurge", "25%"}, {"maxUnavailable", "25%"}}}}},
          {"template",
           {{"metadata", {{"labels", {{"app", "web"}}}}},
            {"spec", {{"containers", Json::array({{{"name", "c"}, {"image", "a"}}})}}}}}}}};
    deployment_["spec"].merge_patch(spec);
  }

  void Change(const Json& spec) {
    deployment_["spec"].merge_patch(spec);
    if (spec.contains("replicas")) least_ = 0;
    deployment_["metadata"]["generation"] = IntAt(deployment_, {"metadata", "generation"}) + 1;
  }
  void SetImage(const std::string& image) {
    deployment_["spec"]["template"]["spec"]["containers"][0]["image"] = image;
    Change(Json::object());
  }

  // One reconcile; returns whether anything changed.
  bool Reconcile() {
    DeploymentView view;
    view.deployment = std::make_shared<const Json>(deployment_);
    for (const Json& set : sets_) {
      view.sets.push_back(std::make_shared<const Json>(set));
      const bool is_old = !HasTemplateOf(set, deployment_);
      view.old_pods_run = view.old_pods_run || (is_old && IntAt(set, {"status", "replicas"}) > 0);
    }
    plan_ = PlanDeployment(view, now_);
    for (const Json& changed : plan_.change) {
      for (Json& set : sets_) {
        if (NameOf(set) == NameOf(changed)) set = changed;
      }
    }
    for (const PlannedEvent& event : plan_.events) events_.push_back(event.message);
    for (const std::size_t at : plan_.remove) removed_.push_back(NameOf(*view.sets[at]));
    std::erase_if(sets_, [&](const Json& set) {
      return std::find(removed_.begin(), removed_.end(), NameOf(set)) != removed_.end();
    });
    if (plan_.create) {
      Json set = *plan_.create;
      set["metadata"]["uid"] = "s" + std::to_string(++uids_);
      set["metadata"]["creationTimestamp"] = FormatTime(now_);
      set["status"] = {{"replicas", 0}};
      sets_.push_back(std::move(set));
    }
    if (plan_.revision) deployment_["metadata"]["annotations"][kRevision] = *plan_.revision;
    if (plan_.status) deployment_["status"] = *plan_.status;
    now_ += std::chrono::seconds(1);
    return plan_.status || plan_.create || !plan_.change.empty() || !plan_.remove.empty();
  }

  // The ReplicaSets follow their size; at most `ready` new pods become ready at a time.
  bool Follow(std::int64_t ready) {
    bool moved = false;
    for (Json& set : sets_) {
      const std::int64_t wanted = WantedReplicas(set);
      const std::int64_t have = IntAt(set, {"status", "availableReplicas"});
      const bool may_grow = IsHealthy(set);
      const std::int64_t next = wanted < have ? wanted
                                : may_grow    ? std::min(wanted, have + ready)
                                              : have;
      Json status = {{"replicas", wanted}, {"availableReplicas", next}, {"readyReplicas", next}};
      moved = moved || status != set["status"];
      set["status"] = std::move(status);
    }
    return moved;
  }

  void Settle(std::int64_t ready = 1) {
    for (int round = 0; round < 400; ++round) {
      const bool planned = Reconcile();
      CheckLimits();
      if (!Follow(ready) && !planned) return;
      CheckLimits();
    }
    ADD_FAILURE() << "never settles: " << deployment_.dump(1);
  }

  std::map<std::string, std::int64_t> Sizes() const {
    std::map<std::string, std::int64_t> sizes;
    for (const Json& set : sets_) sizes[ImageOf(set)] = WantedReplicas(set);
    return sizes;
  }
  const Json& deployment() const { return deployment_; }
  std::vector<Json>& sets() { return sets_; }
  const DeploymentPlan& plan() const { return plan_; }
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }
  const std::vector<std::string>& removed() const { return removed_; }
  void Wait(Duration time) { now_ += time; }
  void Break(const std::string& image) { broken_ = image; }
  std::string Reason(const std::string& type) const {
    const Json* condition = FindCondition(deployment_, type);
    return condition == nullptr ? "" : StringAt(*condition, {"reason"});
  }
  static std::string ImageOf(const Json& set) {
    return set["spec"]["template"]["spec"]["containers"][0]["image"].get<std::string>();
  }

 private:
  bool IsHealthy(const Json& set) const { return ImageOf(set) != broken_; }

  // Never more pods than the surge allows, nor fewer available ones than were there before.
  void CheckLimits() {
    if (BoolAt(deployment_, {"spec", "paused"}) || !IsRollingUpdate(deployment_)) return;
    std::int64_t total = 0;
    std::int64_t available = 0;
    for (const Json& set : sets_) {
      total += WantedReplicas(set);
      available += IntAt(set, {"status", "availableReplicas"});
    }
    EXPECT_LE(total, std::max(WantedReplicas(deployment_) + MaxSurge(deployment_), most_));
    EXPECT_GE(available,
              std::min(least_, WantedReplicas(deployment_) - MaxUnavailable(deployment_)));
    least_ = std::max(least_, available);
    most_ = WantedReplicas(deployment_) + MaxSurge(deployment_);
  }

  Json deployment_;
  std::vector<Json> sets_;
  DeploymentPlan plan_;
  std::vector<std::string> events_;
  std::vector<std::string> removed_;
  std::string broken_;
  WallTime now_ = kStart;
  int uids_ = 0;
  std::int64_t least_ = 0;
  std::int64_t most_ = 0;
};

using Sizes = std::map<std::string, std::int64_t>;

TEST(DeploymentPlanTest, FirstReplicaSetHasTheTemplateHash) {
  World world(3);
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 3}}));
  const Json& set = world.sets()[0];
  const std::string hash = LabelOf(set, kPodTemplateHash);
  EXPECT_EQ(NameOf(set), "web-" + hash);
  EXPECT_EQ(set["spec"]["selector"]["matchLabels"],
            (Json{{"app", "web"}, {kPodTemplateHash, hash}}));
  EXPECT_EQ(set["metadata"]["annotations"],
            (Json{{kRevision, "1"}, {kDesiredReplicas, "3"}, {kMaxReplicas, "4"}}));
  EXPECT_THAT(world.TakeEvents(),
              ElementsAre("Scaled up replica set " + NameOf(set) + " from 0 to 3"));
  EXPECT_EQ(world.deployment()["metadata"]["annotations"][kRevision], "1");
  const Json& status = world.deployment()["status"];
  for (const char* count : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}) {
    EXPECT_EQ(status[count], 3) << count;
  }
  EXPECT_FALSE(status.contains("unavailableReplicas"));
  EXPECT_EQ(world.Reason("Available"), "MinimumReplicasAvailable");
  EXPECT_EQ(world.Reason("Progressing"), "NewReplicaSetAvailable");
}

struct RolloutRow {
  std::int64_t replicas;
  Json surge;
  Json unavailable;
};

TEST(DeploymentPlanTest, RolloutsOfEverySizeEndWithinTheirLimits) {
  for (const RolloutRow& row : std::vector<RolloutRow>{{1, "25%", "25%"},
                                                       {1, 0, 1},
                                                       {2, 1, 0},
                                                       {3, "25%", "25%"},
                                                       {10, "25%", "25%"},
                                                       {10, "100%", 0},
                                                       {10, 0, "100%"},
                                                       {7, 2, 3},
                                                       {4, "10%", "10%"},
                                                       {0, 1, 1}}) {
    SCOPED_TRACE(std::to_string(row.replicas) + " " + row.surge.dump() + " " +
                 row.unavailable.dump());
    World world(
        row.replicas,
        {{"strategy",
          {{"rollingUpdate", {{"maxSurge", row.surge}, {"maxUnavailable", row.unavailable}}}}}});
    world.Settle();
    world.SetImage("b");
    world.Settle();
    EXPECT_EQ(world.Sizes(), (Sizes{{"a", 0}, {"b", row.replicas}}));
    EXPECT_EQ(world.deployment()["metadata"]["annotations"][kRevision], "2");
    EXPECT_EQ(world.Reason("Progressing"), "NewReplicaSetAvailable");
  }
}

TEST(DeploymentPlanTest, UnreadyImageKeepsReadyPodsAndIsUndone) {
  World world(4);
  world.Settle();
  world.Break("bad");
  world.SetImage("bad");
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 3}, {"bad", 2}}));
  EXPECT_EQ(world.Reason("Progressing"), "ReplicaSetUpdated");
  EXPECT_TRUE(world.plan().look_again);
  world.Wait(std::chrono::seconds(601));
  world.Reconcile();
  EXPECT_EQ(world.Reason("Progressing"), "ProgressDeadlineExceeded");
  // kubectl rollout undo writes the earlier template.
  world.SetImage("a");
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 4}, {"bad", 0}}));
  EXPECT_EQ(world.deployment()["metadata"]["annotations"][kRevision], "3");
  EXPECT_EQ(world.sets()[0]["metadata"]["annotations"][kRevisionHistory], "1");
  EXPECT_EQ(world.Reason("Progressing"), "NewReplicaSetAvailable");
}

TEST(DeploymentPlanTest, RecreateEndsAllPodsFirst) {
  World world(2, {{"strategy", {{"type", "Recreate"}, {"rollingUpdate", nullptr}}}});
  world.Settle();
  world.SetImage("b");
  world.Reconcile();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 0}}));
  world.Reconcile();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 0}})) << "pods still run";
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 0}, {"b", 2}}));
}

TEST(DeploymentPlanTest, PausedDeploymentScalesButDoesNotRollOut) {
  World world(2);
  world.Settle();
  world.Change({{"paused", true}});
  world.SetImage("b");
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 2}}));
  EXPECT_EQ(world.Reason("Progressing"), "DeploymentPaused");
  world.Change({{"replicas", 5}});
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 5}}));
  world.Change({{"paused", nullptr}});
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 0}, {"b", 5}}));
}

TEST(DeploymentPlanTest, ScalingDuringARolloutKeepsProportions) {
  World world(10);
  world.Settle();
  world.Break("b");
  world.SetImage("b");
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 8}, {"b", 5}}));
  world.Change({{"replicas", 20}});
  world.Reconcile();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 15}, {"b", 10}}));
}

TEST(DeploymentPlanTest, OldReplicaSetsAreLimited) {
  World world(1, {{"revisionHistoryLimit", 2}});
  for (const char* image : {"a", "b", "c", "d", "e"}) {
    world.SetImage(image);
    world.Settle();
  }
  EXPECT_EQ(world.Sizes(), (Sizes{{"c", 0}, {"d", 0}, {"e", 1}}));
  EXPECT_EQ(world.removed().size(), 2U);
}

TEST(DeploymentPlanTest, ScalesToZeroAndBack) {
  World world(3);
  world.Settle();
  world.Change({{"replicas", 0}});
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 0}}));
  world.Change({{"replicas", 2}});
  world.Settle();
  EXPECT_EQ(world.Sizes(), (Sizes{{"a", 2}}));
}

TEST(DeploymentPlanTest, TheHashOfATemplateIgnoresItselfAndCountsCollisions) {
  Json one = {{"metadata", {{"labels", {{"a", "b"}}}}}};
  Json labelled = one;
  labelled["metadata"]["labels"][kPodTemplateHash] = "x";
  EXPECT_EQ(PodTemplateHash(one, 0), PodTemplateHash(labelled, 0));
  EXPECT_NE(PodTemplateHash(one, 0), PodTemplateHash(one, 1));
}

}  // namespace
}  // namespace berth::local::cluster
