// Goal: a change of `berth what-if` is made on a copy: the cluster's objects stay as they are, bit
// by bit, and the copy has the change. Method: the objects as JSON, before and after each change
// and the forecasts of both.
#include "cli/what_if_changes.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "api/codec/codec.h"
#include "cli/forecast_cluster.h"
#include "tests/cli/view_builder.h"

namespace berth::cli {
namespace {

using Json = nlohmann::json;

// What the changes and the forecasts could touch.
struct Touched {
  std::vector<api::ClusterQueueSpec> queues;
  std::vector<api::StopPolicy> stopped;
  std::string workloads;
  friend bool operator==(const Touched&, const Touched&) = default;
};

Touched In(const ClusterView& view) {
  Touched in;
  Json workloads = Json::array();
  for (const auto& each : view.cluster_queues) in.queues.push_back(each.spec);
  for (const auto& each : view.local_queues) in.stopped.push_back(each.stop_policy);
  for (const auto& each : view.workloads) workloads.push_back(api::Encode(each));
  in.workloads = workloads.dump();
  return in;
}

ClusterView SmallView() {
  ClusterView view;
  view.now = ViewTime();
  view.cluster_queues = {MakeQueue("team", "", {{"cpu", 4000}}, {})};
  view.cluster_queues[0].spec.namespace_selector.emplace();
  view.local_queues = {MakeLocalQueue("default", "main", "team")};
  const std::string flavor = view.cluster_queues[0].spec.resource_groups[0].flavors[0].flavor;
  view.flavors.emplace_back().meta.name = flavor;
  view.workloads = {MakeWorkload("default", "first", "main", 60),
                    MakeWorkload("default", "second", "main", 30)};
  for (api::Workload& workload : view.workloads) {
    workload.meta.uid = "uid-" + workload.meta.name;
    api::PodSet pods;
    pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", 4000}};
    workload.spec.pod_sets = std::vector<api::PodSet>{pods};
  }
  return view;
}

TEST(WhatIfChangesTest, TheClusterIsLeftAlone) {
  const ClusterView view = SmallView();
  const Touched before = In(view);
  const std::string flavor = view.flavors[0].meta.name;
  WhatIfFlags flags;
  flags.quota = {"team/" + flavor + "/cpu=+4"};
  flags.priority = {"job/first=7"};
  flags.stop = {"main"};
  const WhatIfInput input{.flags = flags, .default_namespace = "default"};
  const auto changed = ChangeView(view, input);
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->changes,
            (std::vector<std::string>{"ClusterQueue team: cpu in " + flavor + " 4 → 8",
                                      "LocalQueue default/main: stopped, what runs goes on",
                                      "default/first: priority 0 → 7"}));
  EXPECT_NE(In(changed->view).queues, before.queues);
  EXPECT_NE(In(changed->view).stopped, before.stopped);
  EXPECT_NE(In(changed->view).workloads, before.workloads);
  EXPECT_EQ(In(view), before);
}

TEST(WhatIfChangesTest, AForecastLeavesTheClusterAlone) {
  const ForecastCluster cluster = MakeForecastCluster(SmallView(), {});
  const ForecastJobs jobs = ForecastJobsOf(cluster);
  const Touched before = In(cluster.view);
  const auto objects = [&cluster] {
    std::string text;
    for (const auto& each : cluster.workloads) text += api::Encode(*each).dump();
    return text;
  };
  const std::string objects_before = objects();
  simulation::ForecastOptions options;
  options.world = cluster.world;
  options.draws = 3;
  options.until = simulation::ForecastUntil::kFinished;
  const auto forecast = simulation::MakeForecast(cluster.cluster, jobs.jobs, options);
  EXPECT_EQ(forecast.jobs.at(1).Started(), 3);
  EXPECT_EQ(In(cluster.view), before);
  EXPECT_EQ(objects(), objects_before);
}

}  // namespace
}  // namespace berth::cli
