// Goal: a DaemonSet has one pod on each node that it may run on.
// Method: rows of a set, nodes and pods against the plan.
#include "local/cluster/replicas/daemon_set_plan.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const WallTime kDaemonNow = *ParseTime("2026-11-22T10:00:00Z");

struct DaemonStory {
  DaemonStory() {
    set = {{"apiVersion", "apps/v1"},
           {"kind", "DaemonSet"},
           {"metadata", {{"name", "agent"}, {"namespace", "n"}, {"uid", "u"}, {"generation", 1}}},
           {"spec",
            {{"selector", {{"matchLabels", {{"app", "agent"}}}}},
             {"template",
              {{"metadata", {{"labels", {{"app", "agent"}}}}},
               {"spec", {{"containers", Json::array({{{"name", "c"}}})}}}}}}}};
    for (const char* name : {"a", "b", "c"}) AddNode(name);
    NoteRevision();
  }

  Json& AddNode(const std::string& name) {
    return nodes.emplace_back(Json{{"metadata", {{"name", name}, {"labels", {{"host", name}}}}}});
  }
  void NoteRevision() {
    const RevisionChoice choice = ChooseRevision(set, revisions, 0, kRevisionLabel);
    hash = HashOf(choice.present, kRevisionLabel);
    if (choice.create) revisions.push_back(std::make_shared<const Json>(*choice.create));
  }
  // A ready pod of the newest noted revision.
  Json& AddPod(const std::string& name, const std::string& node) {
    Json pod = MakeDaemonPod(set, node, hash);
    pod["metadata"]["name"] = name;
    pod["spec"]["nodeName"] = node;
    pod["status"] = {
        {"phase", "Running"},
        {"conditions", Json::array({{{"type", "Ready"},
                                     {"status", "True"},
                                     {"lastTransitionTime", "2026-11-22T09:59:50Z"}}})}};
    return pods.emplace_back(std::move(pod));
  }
  void ChangeTemplate() {
    set["spec"]["template"]["spec"]["containers"][0]["image"] = "new";
    NoteRevision();
  }

  DaemonSetPlan Plan() const {
    const auto share = [](const std::vector<Json>& from) {
      std::vector<Object> to;
      for (const Json& one : from) to.push_back(std::make_shared<const Json>(one));
      return to;
    };
    DaemonSetView view;
    view.set = std::make_shared<const Json>(set);
    view.nodes = share(nodes);
    view.pods = share(pods);
    view.revisions = revisions;
    return PlanDaemonSet(view, kDaemonNow);
  }
  std::vector<std::string> CreatedOn() const {
    std::vector<std::string> places;
    for (const Json& pod : Plan().create) places.push_back(NodeOfDaemonPod(pod));
    return places;
  }
  std::vector<std::string> Removed() const {
    std::vector<std::string> names;
    for (const std::size_t at : Plan().remove) names.push_back(NameOf(pods[at]));
    return names;
  }

  Json set;
  std::string hash;
  std::vector<Json> nodes;
  std::vector<Json> pods;
  std::vector<Object> revisions;
};

const Json kUnready = {{"status", {{"conditions", nullptr}}}};

TEST(DaemonSetPlanTest, EachNodeHasOnePod) {
  DaemonStory story;
  EXPECT_THAT(story.CreatedOn(), ElementsAre("a", "b", "c"));
  story.AddPod("pa", "a");
  EXPECT_THAT(story.CreatedOn(), ElementsAre("b", "c"));
  story.AddPod("pd", "d");  // a node that is gone
  EXPECT_THAT(story.Removed(), ElementsAre("pd"));
  story.AddPod("pa2", "a");
  EXPECT_THAT(story.Removed(), ElementsAre("pa2", "pd"));
}

TEST(DaemonSetPlanTest, TaintsAndSelectorsLimitTheNodes) {
  DaemonStory story;
  story.nodes[1]["spec"]["taints"] =
      Json::array({{{"key", "gpu"}, {"value", "x"}, {"effect", "NoSchedule"}}});
  EXPECT_THAT(story.CreatedOn(), ElementsAre("a", "c"));
  story.AddPod("pb", "b");  // it was there before the taint
  EXPECT_THAT(story.Removed(), IsEmpty());
  EXPECT_EQ((*story.Plan().status)["numberMisscheduled"], 1);
  story.nodes[1]["spec"]["taints"][0]["effect"] = "NoExecute";
  EXPECT_THAT(story.Removed(), ElementsAre("pb"));
  story.pods.clear();
  story.nodes[0]["spec"]["taints"] =
      Json::array({{{"key", "node.kubernetes.io/unschedulable"}, {"effect", "NoSchedule"}}});
  story.set["spec"]["template"]["spec"]["nodeSelector"] = {{"host", "a"}};
  story.NoteRevision();
  EXPECT_THAT(story.CreatedOn(), ElementsAre("a"));
}

TEST(DaemonSetPlanTest, FailedPodIsRemovedWithAnEvent) {
  DaemonStory story;
  story.nodes.resize(1);
  story.AddPod("pa", "a")["status"]["phase"] = "Failed";
  EXPECT_THAT(story.Removed(), ElementsAre("pa"));
  EXPECT_EQ(story.Plan().events.at(0).reason, "FailedDaemonPod");
}

TEST(DaemonSetPlanTest, RollsNodeByNode) {
  DaemonStory story;
  for (const char* node : {"a", "b", "c"}) story.AddPod(std::string("p") + node, node);
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.ChangeTemplate();
  EXPECT_THAT(story.Removed(), ElementsAre("pa"));
  story.pods[1].merge_patch(kUnready);  // replacing it costs no availability
  EXPECT_THAT(story.Removed(), ElementsAre("pb"));
  story.set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] = "60%";
  EXPECT_THAT(story.Removed(), ElementsAre("pb", "pa"));
  story.set["spec"]["updateStrategy"] = {{"type", "OnDelete"}};
  EXPECT_THAT(story.Removed(), IsEmpty());
}

TEST(DaemonSetPlanTest, SurgePodIsCreatedBeforeTheOldPodIsRemoved) {
  DaemonStory story;
  story.nodes.resize(2);
  story.set["spec"]["updateStrategy"] = {
      {"type", "RollingUpdate"}, {"rollingUpdate", {{"maxSurge", 1}, {"maxUnavailable", 0}}}};
  story.AddPod("pa", "a");
  story.AddPod("pb", "b");
  story.ChangeTemplate();
  EXPECT_THAT(story.CreatedOn(), ElementsAre("a"));
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.AddPod("pa2", "a").merge_patch(kUnready);
  EXPECT_THAT(story.CreatedOn(), IsEmpty());
  EXPECT_THAT(story.Removed(), IsEmpty());
  story.pods.pop_back();
  story.AddPod("pa2", "a");
  EXPECT_THAT(story.Removed(), ElementsAre("pa"));
  EXPECT_THAT(story.CreatedOn(), ElementsAre("b"));
}

TEST(DaemonSetPlanTest, StatusCountsThePods) {
  DaemonStory story;
  story.AddPod("pa", "a");
  story.AddPod("pb", "b").merge_patch(kUnready);
  EXPECT_EQ(*story.Plan().status, (Json{{"currentNumberScheduled", 2},
                                        {"numberMisscheduled", 0},
                                        {"desiredNumberScheduled", 3},
                                        {"numberReady", 1},
                                        {"updatedNumberScheduled", 2},
                                        {"numberAvailable", 1},
                                        {"numberUnavailable", 2},
                                        {"observedGeneration", 1}}));
}

TEST(DaemonSetPlanTest, AffinityOfTheTemplateStays) {
  DaemonStory story;
  const Json term = {
      {"matchExpressions", Json::array({{{"key", "host"}, {"operator", "Exists"}}})}};
  story.set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
           ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
      Json::array({term});
  const Json pod = MakeDaemonPod(story.set, "a", "h");
  EXPECT_EQ(NodeOfDaemonPod(pod), "a");
  const Json& made = pod["spec"]["affinity"]["nodeAffinity"]
                        ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0];
  EXPECT_EQ(made["matchExpressions"], term["matchExpressions"]);
  EXPECT_EQ(LabelOf(pod, kRevisionLabel), "h");
}

}  // namespace
}  // namespace berth::local::cluster
