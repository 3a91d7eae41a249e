// Goal: a change of `berth what-if` is made on a copy: the cluster's objects stay as they are, bit
// by bit, and the copy has the change. Method: the objects as JSON, before and after each change
// and the forecasts of both.
#include "forecast/what_if_changes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "api/condition.h"
#include "api/reasons.h"
#include "forecast/forecast_cluster.h"
#include "tests/view/view_builder.h"

namespace berth::forecast {
namespace {

using Json = nlohmann::json;

// What the changes and the forecasts could touch.
struct Touched {
  std::vector<api::ClusterQueueSpec> queues;
  std::vector<api::StopPolicy> stopped;
  std::string workloads;
  friend bool operator==(const Touched&, const Touched&) = default;
};

Touched In(const view::ClusterView& view) {
  Touched in;
  Json workloads = Json::array();
  for (const auto& each : view.cluster_queues) in.queues.push_back(each.spec);
  for (const auto& each : view.local_queues) in.stopped.push_back(each.stop_policy);
  for (const auto& each : view.workloads) workloads.push_back(api::Encode(each));
  in.workloads = workloads.dump();
  return in;
}

view::ClusterView SmallView() {
  view::ClusterView view;
  view.now = view::ViewTime();
  view.cluster_queues = {view::MakeQueue("team", "", {{"cpu", 4000}}, {})};
  view.cluster_queues[0].spec.namespace_selector.emplace();
  view.local_queues = {view::MakeLocalQueue("default", "main", "team")};
  const std::string flavor = view.cluster_queues[0].spec.resource_groups[0].flavors[0].flavor;
  view.flavors.emplace_back().meta.name = flavor;
  view.workloads = {view::MakeWorkload("default", "first", "main", 60),
                    view::MakeWorkload("default", "second", "main", 30)};
  for (api::Workload& workload : view.workloads) {
    workload.meta.uid = "uid-" + workload.meta.name;
    api::PodSet pods;
    pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", 4000}};
    workload.spec.pod_sets = std::vector<api::PodSet>{pods};
  }
  return view;
}

TEST(WhatIfChangesTest, ChangeLeavesTheGivenViewAlone) {
  const view::ClusterView view = SmallView();
  const Touched before = In(view);
  const std::string flavor = view.flavors[0].meta.name;
  WhatIfOptions options;
  options.quota = {"team/" + flavor + "/cpu=+4"};
  options.priority = {"job/first=7"};
  options.stop = {"main"};
  const WhatIfInput input{.options = options, .default_namespace = "default"};
  const auto changed = ChangeView(view, input);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->changes, (std::vector<std::string>{
                                  "ClusterQueue team: cpu in " + flavor + " 4 → 8",
                                  "LocalQueue default/main: stopped; running workloads continue",
                                  "default/first: priority 0 → 7"}));
  EXPECT_NE(In(changed->view).queues, before.queues);
  EXPECT_NE(In(changed->view).stopped, before.stopped);
  EXPECT_NE(In(changed->view).workloads, before.workloads);
  EXPECT_EQ(In(view), before);
}

Json ObjectOf(const char* version, const char* kind, const char* name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

constexpr char kKueueVersion[] = "kueue.x-k8s.io/v1beta2";

TEST(WhatIfChangesTest, PoliciesOfFilesAreAddedToTheView) {
  Json policy = ObjectOf("provisioning.berth.dev/v1alpha1", "ProvisioningPolicy", "spot-first");
  policy["spec"] = {{"steps", Json::array({{{"name", "spot"}, {"flavor", "spot"}}})}};
  Json config = ObjectOf(kKueueVersion, "ProvisioningRequestConfig", "dws");
  config["spec"] = {{"provisioningClassName", "queued-provisioning.gke.io"}};
  WhatIfOptions options;
  // Objects of lists count one by one.
  const Json list = {{"kind", "List"}, {"items", Json::array({config})}};
  const WhatIfInput input{
      .options = options, .changed = {policy, list}, .default_namespace = "default"};
  const auto changed = ChangeView(SmallView(), input);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->changes, (std::vector<std::string>{"new ProvisioningRequestConfig dws",
                                                        "new ProvisioningPolicy spot-first"}));
  ASSERT_EQ(changed->view.provisioning_policies.size(), 1U);
  EXPECT_EQ(changed->view.provisioning_policies[0].meta.name, "spot-first");
  EXPECT_EQ(changed->view.provisioning_configs.size(), 1U);
  EXPECT_TRUE(changed->notes.empty());
}

TEST(WhatIfChangesTest, KindsThatChangeNoForecastAreNamed) {
  WhatIfOptions options;
  const Json topology = ObjectOf(kKueueVersion, "Topology", "racks");
  const Json pool = ObjectOf("cloud.berth.dev/v1alpha1", "NodePool", "t4");
  const WhatIfInput alone{.options = options, .changed = {topology, pool}, .default_namespace = ""};
  const auto refused = ChangeView(SmallView(), alone);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "-f: the forecast uses no object of the files; left out: Topology racks of -f: the "
            "forecast does not use it");
  const Json space = ObjectOf("v1", "Namespace", "other");
  const WhatIfInput beside{.options = options, .changed = {topology, space, pool}};
  const auto changed = ChangeView(SmallView(), beside);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->changes, (std::vector<std::string>{"new Namespace other"}));
  EXPECT_EQ(changed->notes,
            (std::vector<std::string>{"Topology racks of -f: the forecast does not use it",
                                      "NodePool t4 of -f: the forecast does not use it"}));
  // Where pods are placed on nodes, these count.
  view::ClusterView view = SmallView();
  view.topology_nodes.emplace_back().meta.name = "n1";
  const WhatIfInput nodes{.options = options, .changed = {topology, ObjectOf("v1", "Node", "n2")}};
  const auto larger = ChangeView(view, nodes);
  ASSERT_TRUE(larger) << larger.error().message;
  EXPECT_EQ(larger->changes, (std::vector<std::string>{"new Topology racks", "new Node n2"}));
  EXPECT_TRUE(larger->notes.empty());
  ASSERT_EQ(larger->view.topology_nodes.size(), 2U);
  EXPECT_TRUE(api::IsTrue(larger->view.topology_nodes[1].conditions, "Ready"));
}

TEST(WhatIfChangesTest, GpuMeansNvidiaGpu) {
  const auto change = ParseQuotaChange("team/t4/gpu=+8");
  ASSERT_TRUE(change);
  EXPECT_EQ(change->resource, "nvidia.com/gpu");
  EXPECT_EQ(change->After(2), 10);
  EXPECT_EQ(ParseQuotaChange("team/t4/example.com/gpu=+8")->resource, "example.com/gpu");
}

api::Workload RunningFor(const char* name, const char* kind, const char* owner) {
  api::Workload workload = view::MakeRunning("default", name, "team", {{"cpu", 1000}});
  workload.meta.name = name;
  workload.meta.owner_references[0].kind = kind;
  workload.meta.owner_references[0].name = owner;
  return workload;
}

// Each pod of a node names its Workload in another way; all of them stop with the node.
TEST(WhatIfChangesTest, WorkloadsOfEveryKindStopWithTheirNode) {
  view::ClusterView view = SmallView();
  view.workloads = {
      RunningFor("job-a", "Job", "a"),           RunningFor("jobset-b", "JobSet", "b"),
      RunningFor("group-c", "Pod", "some-pod"),  RunningFor("pod-d", "Pod", "d"),
      RunningFor("rayjob-e", "RayJob", "e"),     RunningFor("raycluster-f", "RayCluster", "f"),
      RunningFor("job-other", "Job", "jobset-g")};
  api::Job inner;
  inner.meta.namespace_name = "default";
  inner.meta.name = "b-workers-0";
  inner.meta.owner_references = {{"jobset.x-k8s.io/v1alpha2", "JobSet", "b", "uid", true, true}};
  view.jobs = {inner};
  const auto pod = [](const char* name) {
    return view::PodView{.namespace_name = "default", .name = name, .node_name = "n1"};
  };
  view.pods = {pod("p-a"), pod("p-b"), pod("p-c"), pod("d"), pod("p-e"), pod("p-f")};
  view.pods[0].job_name = "a";
  view.pods[1].owner_kind = "Job";
  view.pods[1].owner_name = "b-workers-0";
  view.pods[2].group = "group-c";
  view.pods[4].workload = "rayjob-e";
  view.pods[5].owner_kind = "RayCluster";
  view.pods[5].owner_name = "f";
  view.topology_nodes.emplace_back().meta.name = "n1";
  view.topology_nodes.emplace_back().meta.name = "n2";
  WhatIfOptions options;
  options.nodes = {"n1"};
  const auto changed = ChangeView(view, {.options = options, .default_namespace = "default"});
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->changes, (std::vector<std::string>{"Node n1: removed, 6 jobs stop"}));
  std::vector<std::string> running;
  for (const api::Workload& workload : changed->view.workloads) {
    if (!api::IsTrue(workload.status.conditions, api::kEvicted)) {
      running.push_back(workload.meta.name);
    }
  }
  EXPECT_EQ(running, (std::vector<std::string>{"job-other"}));
  // Topologies have no room on the node any more; the cluster is left alone.
  EXPECT_TRUE(changed->view.topology_nodes[0].unschedulable);
  EXPECT_FALSE(changed->view.topology_nodes[1].unschedulable);
  EXPECT_FALSE(view.topology_nodes[0].unschedulable);
  // A node without jobs may go, too, where a topology has it.
  options.nodes = {"n2"};
  const auto empty = ChangeView(view, {.options = options, .default_namespace = "default"});
  ASSERT_TRUE(empty) << empty.error().message;
  EXPECT_EQ(empty->changes, (std::vector<std::string>{"Node n2: removed, 0 jobs stop"}));
  options.nodes = {"n3"};
  EXPECT_FALSE(ChangeView(view, {.options = options, .default_namespace = "default"}));
}

// HoldAndDrain stops what runs, Hold takes back what is reserved alone (admission/lifecycle).
TEST(WhatIfChangesTest, StopPolicyOfAQueueEvictsItsJobs) {
  view::ClusterView view = SmallView();
  view.workloads = {RunningFor("job-a", "Job", "a"), RunningFor("job-b", "Job", "b")};
  for (api::Workload& each : view.workloads) each.spec.queue_name = "main";
  std::erase_if(view.workloads[1].status.conditions,
                [](const api::Condition& each) { return each.type == api::kAdmitted; });
  struct StopRow {
    const char* kind;
    const char* name;
    const char* policy;
    std::vector<std::string> reasons;  // why each Workload is evicted; empty: it is not
    std::size_t changes;
  };
  const StopRow rows[] = {
      {"LocalQueue", "main", "HoldAndDrain", {"LocalQueueStopped", "LocalQueueStopped"}, 2},
      {"LocalQueue", "main", "Hold", {"", "LocalQueueStopped"}, 1},
      {"LocalQueue", "main", "None", {"", ""}, 1},
      {"ClusterQueue", "team", "HoldAndDrain", {"ClusterQueueStopped", "ClusterQueueStopped"}, 2},
      {"ClusterQueue", "team", "Hold", {"", "ClusterQueueStopped"}, 1}};
  for (const StopRow& row : rows) {
    Json queue{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
               {"kind", row.kind},
               {"metadata", {{"name", row.name}}},
               {"spec", {{"stopPolicy", row.policy}}}};
    if (row.kind == std::string("LocalQueue")) queue["spec"]["clusterQueue"] = "team";
    const WhatIfOptions options;
    const auto changed =
        ChangeView(view, {.options = options, .changed = {queue}, .default_namespace = "default"});
    ASSERT_TRUE(changed) << changed.error().message;
    std::vector<std::string> reasons;
    for (const api::Workload& each : changed->view.workloads) {
      const auto* evicted = api::FindCondition(each.status.conditions, api::kEvicted);
      reasons.push_back(evicted == nullptr ? "" : evicted->reason);
    }
    EXPECT_EQ(reasons, row.reasons) << row.kind << " " << row.policy;
    ASSERT_EQ(changed->changes.size(), row.changes);
    EXPECT_EQ(changed->changes.back() == "1 job stops with its queue", row.changes == 2);
  }
}

TEST(WhatIfChangesTest, ForecastLeavesTheClusterAlone) {
  const ForecastCluster cluster = MakeForecastCluster(SmallView(), {});
  const ForecastJobs jobs = ForecastJobsOf(cluster);
  const Touched before = In(cluster.view);
  const auto objects = [&cluster] {
    std::string text;
    for (const auto& each : cluster.workloads) text += api::Encode(*each).dump();
    return text;
  };
  const std::string objects_before = objects();
  simulation::ForecastOptions options = ForecastOptionsOf(cluster);
  options.draws = 3;
  options.until = simulation::ForecastUntil::kFinished;
  const auto forecast = simulation::MakeForecast(cluster.cluster, jobs.jobs, options);
  EXPECT_EQ(forecast.jobs.at(1).Started(), 3);
  EXPECT_EQ(In(cluster.view), before);
  EXPECT_EQ(objects(), objects_before);
}

}  // namespace
}  // namespace berth::forecast
