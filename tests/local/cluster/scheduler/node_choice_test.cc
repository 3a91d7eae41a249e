// Goal: the node of a pod, and kube-scheduler's words if there is none.
// Method: rows of one pod against a few nodes.
#include "local/cluster/scheduler/node_choice.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

void Add(NodeRooms& rooms, const std::string& name, const Json& more,
         const api::ResourceAmounts& used = {}) {
  Json node = {{"metadata", {{"name", name}}},
               {"status", {{"allocatable", {{"cpu", "2"}, {"memory", "4Gi"}, {"pods", "2"}}}}}};
  if (more.is_object()) node.merge_patch(more);
  NodeRoom room = MakeRoom(std::make_shared<const Json>(std::move(node)));
  room.used = used;
  rooms.insert_or_assign(name, std::move(room));
}

Json Pod(const Json& spec = Json::object()) {
  Json pod = {
      {"metadata", {{"name", "p"}}},
      {"spec", {{"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}};
  pod["spec"].merge_patch(spec);
  return pod;
}

std::string Choose(const Json& pod, const NodeRooms& rooms) {
  const auto choice = ChooseNode(pod, rooms);
  if (const auto* node = std::get_if<ChosenNode>(&choice)) return node->name;
  return std::get<NoNode>(choice).message;
}

std::string Refused(const std::string& counts, const std::string& reasons,
                    const std::string& preemption) {
  return "0/" + counts + " nodes are available: " + reasons +
         ". no new claims to deallocate, preemption: 0/" + counts +
         " nodes are available: " + preemption + ".";
}

TEST(NodeChoiceTest, MessageReportsThatThereAreNoNodes) {
  EXPECT_EQ(Choose(Pod(), {}), "no nodes available to schedule pods");
}

TEST(NodeChoiceTest, ChoosesTheLeastUsedNodeThenByName) {
  NodeRooms rooms;
  Add(rooms, "a", {}, {{"cpu", 500}});
  Add(rooms, "b", {});
  Add(rooms, "c", {});
  EXPECT_EQ(Choose(Pod(), rooms), "b");
}

TEST(NodeChoiceTest, RefusalNamesEveryMissingResource) {
  NodeRooms rooms;
  Add(rooms, "a", {}, {{"cpu", 1500}, {"pods", 2}});
  EXPECT_EQ(Choose(Pod(), rooms), Refused("1", "1 Insufficient cpu, 1 Too many pods",
                                          "1 No preemption victims found for incoming pod"));
}

TEST(NodeChoiceTest, PreemptionDoesNotHelpWhereNoNodeIsLargeEnough) {
  NodeRooms rooms;
  Add(rooms, "a", {});
  const Json gpu = {
      {"containers", {{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", 1}}}}}}}}};
  EXPECT_EQ(Choose(Pod(gpu), rooms), Refused("1", "1 Insufficient nvidia.com/gpu",
                                             "1 Preemption is not helpful for scheduling"));
}

TEST(NodeChoiceTest, RefusalCountsTaintsSelectorsAndCordons) {
  NodeRooms rooms;
  const Json taint = {{"key", "nvidia.com/gpu"}, {"value", "present"}, {"effect", "NoSchedule"}};
  Add(rooms, "tainted",
      {{"spec", {{"taints", {taint}}}}, {"metadata", {{"labels", {{"pool", "gpu"}}}}}});
  Add(rooms, "cordoned",
      {{"spec", {{"unschedulable", true}}}, {"metadata", {{"labels", {{"pool", "gpu"}}}}}});
  Add(rooms, "other", {});
  const Json selector = {{"nodeSelector", {{"pool", "gpu"}}}};
  EXPECT_EQ(Choose(Pod(selector), rooms),
            Refused("3",
                    "1 node(s) didn't match Pod's node affinity/selector, "
                    "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable",
                    "3 Preemption is not helpful for scheduling"));
  Json tolerating = selector;
  tolerating["tolerations"] = {{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}};
  EXPECT_EQ(Choose(Pod(tolerating), rooms), "tainted");
  // Pods of DaemonSets tolerate this taint.
  tolerating["tolerations"] = {
      {{"key", "node.kubernetes.io/unschedulable"}, {"operator", "Exists"}}};
  EXPECT_EQ(Choose(Pod(tolerating), rooms), "cordoned");
}

TEST(NodeChoiceTest, RequiredAffinityExcludesNodesThatDoNotMatch) {
  NodeRooms rooms;
  Add(rooms, "a", {{"metadata", {{"labels", {{"zone", "x"}, {"gpus", "4"}}}}}});
  const auto with = [](const char* key, const char* op, const Json& values) {
    const Json term = {
        {"matchExpressions", {{{"key", key}, {"operator", op}, {"values", values}}}}};
    return Pod({{"affinity",
                 {{"nodeAffinity",
                   {{"requiredDuringSchedulingIgnoredDuringExecution",
                     {{"nodeSelectorTerms", {term}}}}}}}}});
  };
  EXPECT_EQ(Choose(with("zone", "In", {"x", "y"}), rooms), "a");
  EXPECT_NE(Choose(with("zone", "NotIn", {"x", "y"}), rooms), "a");
  EXPECT_EQ(Choose(with("zone", "Exists", Json::array()), rooms), "a");
  EXPECT_NE(Choose(with("zone", "DoesNotExist", Json::array()), rooms), "a");
  EXPECT_EQ(Choose(with("gpus", "Gt", {"3"}), rooms), "a");
  EXPECT_NE(Choose(with("gpus", "Lt", {"4"}), rooms), "a");
}

TEST(NodeChoiceTest, PreferredAffinityOutranksFreeCapacity) {
  NodeRooms rooms;
  Add(rooms, "demand", {});
  Add(rooms, "low", {{"metadata", {{"labels", {{"priority", "spot"}}}}}}, {{"cpu", 500}});
  const Json expression = {{"key", "priority"}, {"operator", "In"}, {"values", {"spot"}}};
  Json preferred = {{"weight", 1}};
  preferred["preference"]["matchExpressions"] = Json::array({expression});
  Json pod = Pod();
  EXPECT_EQ(Choose(pod, rooms), "demand");
  pod["spec"]["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
      Json::array({preferred});
  EXPECT_EQ(Choose(pod, rooms), "low");
  rooms.at("low").used["cpu"] = 2000;
  EXPECT_EQ(Choose(pod, rooms), "demand") << "a preference is no requirement";
}

TEST(NodeChoiceTest, InitContainersCountAtTheirLargest) {
  const Json init = {{{"name", "i"}, {"resources", {{"requests", {{"cpu", "3"}}}}}}};
  EXPECT_EQ(PodFootprint(Pod({{"initContainers", init}})).at("cpu"), 3000);
  Json sidecar = init;
  sidecar[0]["restartPolicy"] = "Always";
  EXPECT_EQ(PodFootprint(Pod({{"initContainers", sidecar}})).at("cpu"), 4000);
}

}  // namespace
}  // namespace berth::local::cluster
