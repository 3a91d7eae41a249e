// Goal: whatever `berth what-if` tries, the objects of the cluster stay as they are.
// Method: random changes of every option, in random numbers, on one view; its objects as text
// before and after the changes and the forecasts of both sides.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "api/codec/codec.h"
#include "forecast/forecast_cluster.h"
#include "forecast/what_if_changes.h"
#include "tests/support/property.h"
#include "tests/view/view_builder.h"

namespace berth::forecast {
namespace {

using nlohmann::json;
using support::Below;

constexpr char kKueue[] = "kueue.x-k8s.io/v1beta2";

std::string Digits(int number) { return std::to_string(number); }

// Two queues, jobs that run on nodes and jobs that wait.
view::ClusterView StandingView() {
  view::ClusterView view;
  view.now = view::ViewTime();
  for (const char* name : {"a", "b"}) {
    view.cluster_queues.push_back(view::MakeQueue(name, "org", {{"cpu", 4000}}, {}));
    view.cluster_queues.back().spec.namespace_selector.emplace();
    view.local_queues.push_back(view::MakeLocalQueue("default", name, name));
  }
  view.flavors.emplace_back().meta.name = "t4";
  const auto add = [&view](api::Workload workload, int number) {
    api::PodSet pods;
    pods.pod_template.spec.containers.emplace_back().requests = {{"cpu", 2000}};
    workload.spec.pod_sets = std::vector<api::PodSet>{pods};
    workload.spec.queue_name = number % 2 == 0 ? "a" : "b";
    workload.meta.uid = "uid-" + Digits(number);
    view.workloads.push_back(std::move(workload));
  };
  for (int i = 0; i < 2; ++i) {
    add(view::MakeRunning("default", "runs-" + Digits(i), i == 0 ? "a" : "b", {{"cpu", 2000}}), i);
    view.jobs.push_back(view::MakeJob(view.workloads.back()));
    view.pods.push_back({.namespace_name = "default",
                         .name = "pod-" + Digits(i),
                         .job_name = "runs-" + Digits(i),
                         .node_name = "n" + Digits(i)});
    view.topology_nodes.emplace_back().meta.name = "n" + Digits(i);
  }
  for (int i = 2; i < 6; ++i)
    add(view::MakeWorkload("default", "waits-" + Digits(i), "a", 60 + i), i);
  return view;
}

json MetasOf(const view::ClusterView& view) {
  json metas = json::array();
  const auto note = [&metas](const auto& objects) {
    json list = json::array();
    for (const auto& each : objects) list.push_back(api::Encode(each.meta));
    metas.push_back(std::move(list));
  };
  note(view.cluster_queues);
  note(view.cohorts);
  note(view.local_queues);
  note(view.flavors);
  note(view.namespaces);
  note(view.priority_classes);
  note(view.admission_checks);
  note(view.provisioning_configs);
  note(view.provisioning_policies);
  note(view.jobs);
  return metas;
}

// Everything that a change or a forecast could touch.
struct Snapshot {
  std::string objects;
  std::vector<api::ClusterQueueSpec> queues;
  std::vector<api::StopPolicy> stopped;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

Snapshot SnapshotOf(const view::ClusterView& view) {
  Snapshot snapshot;
  json objects = MetasOf(view);
  for (const auto& each : view.workloads) objects.push_back(api::Encode(each));
  for (const auto& each : view.topology_nodes) {
    objects.push_back({each.meta.name, each.unschedulable});
  }
  for (const auto& each : view.pods) objects.push_back({each.name, each.node_name, each.job_name});
  for (const auto& each : view.jobs) {
    objects.push_back(each.active_deadline_seconds ? json(*each.active_deadline_seconds) : json());
  }
  snapshot.objects = objects.dump();
  for (const auto& each : view.cluster_queues) snapshot.queues.push_back(each.spec);
  for (const auto& each : view.local_queues) snapshot.stopped.push_back(each.stop_policy);
  return snapshot;
}

json JobDocument(int number) {
  const json requests = {{"cpu", Digits(1 + number)}};
  const json container = {{"name", "c"}, {"image", "i"}, {"resources", {{"requests", requests}}}};
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"name", "new-" + Digits(number)}, {"labels", {{"kueue.x-k8s.io/queue-name", "a"}}}}},
          {"spec",
           {{"parallelism", 1},
            {"template",
             {{"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}}}}}};
}

// An object of -f of a random kind.
json ChangedDocument() {
  const int number = *Below(3);
  const std::string name = number == 0 ? "a" : number == 1 ? "b" : "c";
  const auto object = [](const char* kind, const std::string& named) {
    return json{{"apiVersion", kKueue}, {"kind", kind}, {"metadata", {{"name", named}}}};
  };
  switch (*Below(6)) {
    case 0: {
      json queue = object("ClusterQueue", name);
      const json quota = {{"name", "cpu"}, {"nominalQuota", Digits(*Below(9))}};
      const json flavor = {{"name", "t4"}, {"resources", json::array({quota})}};
      queue["spec"] = {{"cohortName", "org"},
                       {"namespaceSelector", json::object()},
                       {"resourceGroups", json::array({{{"coveredResources", json::array({"cpu"})},
                                                        {"flavors", json::array({flavor})}}})}};
      return queue;
    }
    case 1: return object("ResourceFlavor", number == 0 ? "t4" : "a100");
    case 2: {
      json queue = object("LocalQueue", name);
      queue["spec"] = {{"clusterQueue", number == 2 ? "a" : name}, {"stopPolicy", "Hold"}};
      return queue;
    }
    case 3: return object("Cohort", "org");
    case 4: {
      json config = object("ProvisioningRequestConfig", name);
      config["spec"] = {{"provisioningClassName", "queued"}};
      return config;
    }
    default: return JobDocument(*Below(3));
  }
}

TEST(WhatIfProperty, NoChangeTouchesTheCluster) {
  support::CheckProperty(60, [] {
    const view::ClusterView view = StandingView();
    const Snapshot before = SnapshotOf(view);
    WhatIfOptions asked;
    WhatIfInput input{
        .options = asked, .changed = {}, .submitted = {}, .default_namespace = "default"};
    const int files = *Below(3);
    for (int i = 0; i < files; ++i) input.changed.push_back(ChangedDocument());
    if (*Below(2) == 0) {
      asked.times = 1 + *Below(3);
      input.submitted.push_back(JobDocument(*Below(3)));
    }
    const char* const signs[] = {"+", "-", ""};
    if (*Below(2) == 0) {
      asked.quota = {std::string("a/t4/cpu=") + signs[*Below(3)] + Digits(*Below(6))};
    }
    if (*Below(2) == 0) {
      asked.priority = {"job/waits-" + Digits(2 + *Below(4)) + "=" + Digits(*Below(100))};
    }
    if (*Below(2) == 0) asked.stop = {*Below(2) == 0 ? "a" : "b"};
    if (*Below(2) == 0) asked.nodes = {"n" + Digits(*Below(2))};
    const auto changed = ChangeView(view, input);
    RC_ASSERT(static_cast<bool>(changed));
    RC_ASSERT(SnapshotOf(view) == before);
    const Snapshot after = SnapshotOf(changed->view);
    for (const view::ClusterView* side : {&view, &changed->view}) {
      const ForecastCluster cluster = MakeForecastCluster(*side, {});
      const ForecastJobs jobs = ForecastJobsOf(cluster);
      simulation::ForecastOptions options = ForecastOptionsOf(cluster);
      options.draws = 2;
      options.until = simulation::ForecastUntil::kFinished;
      simulation::MakeForecast(cluster.cluster, jobs.jobs, options);
      RC_ASSERT(SnapshotOf(cluster.view) == SnapshotOf(*side));
    }
    RC_ASSERT(SnapshotOf(view) == before);
    RC_ASSERT(SnapshotOf(changed->view) == after);
  });
}

}  // namespace
}  // namespace berth::forecast
