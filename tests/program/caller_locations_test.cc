// Goal: a caller of the read API learns on which nodes running Workloads run from their pods, with
// one list for each namespace and kind of jobs, and only where the caller may list pods.
//
// Method: objects of a mirror, and an API that gives or refuses answers by path.
#include "program/caller_locations.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/program/api_of_answers.h"
#include "tests/view/view_builder.h"

namespace berth::program {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::json;

Json PodOn(const std::string& space, const std::string& name, const std::string& node,
           const Json& labels) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"namespace", space}, {"name", name}, {"labels", labels}}},
          {"spec", {{"nodeName", node}}},
          {"status", {{"phase", "Running"}}}};
}

constexpr char kJob[] = "batch.kubernetes.io/job-name";
constexpr char kSet[] = "jobset.sigs.k8s.io/jobset-name";
constexpr char kGroup[] = "kueue.x-k8s.io/pod-group-name";

class CallerLocationsTest : public ::testing::Test {
 protected:
  void Add(const std::string& space, const std::string& name, const std::string& version,
           const std::string& kind) {
    api::Workload workload = view::MakeRunning(space, name, "cq", {{"cpu", 1000}});
    workload.meta.owner_references.clear();
    if (kind.empty()) {
      workload.meta.name = name;  // the name of the pod group
    } else {
      workload.meta.owner_references = {
          {.api_version = version, .kind = kind, .name = name, .uid = "u", .controller = true}};
    }
    objects_.workloads.push_back(std::make_shared<api::Workload>(std::move(workload)));
  }
  void AddJob(const std::string& space, const std::string& name) {
    Add(space, name, "batch/v1", "Job");
  }

  static std::string ListOf(const std::string& space, const std::string& selector,
                            const std::string& limit = "1000") {
    return "/api/v1/namespaces/" + space + "/pods?labelSelector=" + selector + "&limit=" + limit +
           "&fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
  }
  static std::string JobsIn(const std::string& names) {
    return "batch.kubernetes.io%2Fjob-name%20in%20%28" + names + "%29";
  }

  Json Locations(std::vector<std::string> namespaces = {}) {
    const readapi::CallerRequest request{.kind = readapi::CallerRequest::Kind::kLocations,
                                         .namespaces = std::move(namespaces)};
    return CallerLocations(api_, request, objects_, view::ViewTime());
  }

  static std::vector<std::string> RemarksOf(const Json& locations) {
    std::vector<std::string> remarks;
    for (const Json& item : locations.at("items")) remarks.push_back(item.at("remark"));
    return remarks;
  }

  ApiOfAnswers api_;
  MirrorObjects objects_;
};

TEST_F(CallerLocationsTest, RunningWorkloadsOfEachKindNameTheNodesOfTheirPods) {
  AddJob("team-a", "train");
  AddJob("team-a", "tune");
  Add("team-a", "set", "jobset.x-k8s.io/v1alpha2", "JobSet");
  Add("team-a", "one", "v1", "Pod");
  Add("team-a", "group", "", "");
  Add("team-a", "labelled", "", "");
  Add("team-a", "ray", "ray.io/v1", "RayJob");
  AddJob("team-b", "train");
  objects_.workloads.push_back(
      std::make_shared<api::Workload>(view::MakeWorkload("team-a", "waits", "q", 60)));
  api_.answers[ListOf("team-a", JobsIn("train%2Ctune"))] = {
      {"items", Json::array({PodOn("team-a", "p0", "n1", {{kJob, "train"}}),
                             PodOn("team-a", "p1", "n2", {{kJob, "train"}}),
                             PodOn("team-a", "p2", "n3", {{kJob, "tune"}})})}};
  api_.answers[ListOf("team-a", "jobset.sigs.k8s.io%2Fjobset-name%20in%20%28set%29")] = {
      {"items",
       Json::array({PodOn("team-a", "p3", "n4", {{kJob, "set-workers-0"}, {kSet, "set"}})})}};
  api_.answers["/api/v1/namespaces/team-a/pods/one"] = PodOn("team-a", "one", "n5", Json::object());
  Json by_annotation = PodOn("team-a", "p4", "n6", Json::object());
  by_annotation["metadata"]["annotations"] = {{kGroup, "group"}};
  api_.answers[ListOf("team-a", "kueue.x-k8s.io%2Fpod-group-name%20in%20%28group%2Clabelled%29")] =
      {{"items", Json::array({PodOn("team-a", "p6", "n8", {{kGroup, "labelled"}})})}};
  api_.answers[ListOf("team-a", "kueue.x-k8s.io%2Fmanaged%3Dtrue")] = {
      {"items", Json::array({by_annotation, PodOn("team-a", "p5", "n7", {{kGroup, "other"}})})}};
  const Json own = Locations({"team-a"});
  EXPECT_THAT(RemarksOf(own),
              ElementsAre("t4: n1, n2", "t4: n3", "t4: n4", "t4: n5", "t4: n6", "t4: n8", "t4"));
  EXPECT_EQ(own.at("namespacesWithoutPods"), Json::array());
  // The pods of another namespace are those that the caller may not list.
  const Json all = Locations();
  EXPECT_THAT(RemarksOf(all), ElementsAre("t4: n1, n2", "t4: n3", "t4: n4", "t4: n5", "t4: n6",
                                          "t4: n8", "t4", "t4"));
  EXPECT_EQ(all.at("namespacesWithoutPods"), Json::array({"team-b"}));
  EXPECT_EQ(all.at("failed"), Json::array());
}

TEST_F(CallerLocationsTest, LargeJobsHideNoOthers) {
  const auto add = [this](const std::string& name, int count) {
    AddJob("team-a", name);
    auto workload = std::make_shared<api::Workload>(*objects_.workloads.back());
    workload->status.admission->pod_set_assignments[0].count = count;
    objects_.workloads.back() = workload;
  };
  add("huge", 201);
  add("a", 200);
  add("b", 200);
  add("c", 200);
  add("small", 1);
  const auto one = [](const char* job, const char* node) {
    return Json{
        {"items", Json::array({PodOn("team-a", std::string(job) + "-0", node, {{kJob, job}})})}};
  };
  api_.answers[ListOf("team-a", JobsIn("a%2Cb"))] = one("a", "n1");
  api_.answers[ListOf("team-a", JobsIn("c%2Csmall"))] = one("small", "n2");
  EXPECT_THAT(RemarksOf(Locations()), ElementsAre("t4", "t4: n1", "t4", "t4", "t4: n2"));
  EXPECT_EQ(api_.asked.size(), 2U) << "requests of 500 pods, none of the huge job";
  // A part of the nodes would look like all of them.
  Json many = Json::array();
  for (int i = 0; i < 1000; ++i) {
    many.push_back(PodOn("team-a", "a-" + std::to_string(i), "n1", {{kJob, "a"}}));
  }
  api_.answers[ListOf("team-a", JobsIn("a%2Cb"))] = {{"items", many}};
  EXPECT_EQ(RemarksOf(Locations())[1], "t4");
}

TEST_F(CallerLocationsTest, OneFailureLeavesTheOthersTold) {
  AddJob("team-a", "train");
  AddJob("team-b", "train");
  const Json pods = Json::array({PodOn("team-b", "p0", "n1", {{kJob, "train"}})});
  api_.answers[ListOf("team-b", JobsIn("train"))] = {{"items", pods}};
  api_.fails = "/api/v1/namespaces/team-a/";
  const Json found = Locations();
  EXPECT_THAT(RemarksOf(found), ElementsAre("t4: n1"));
  EXPECT_EQ(found.at("failed"), Json::array({objects_.workloads[0]->meta.key().ToString()}));
}

// Whoever may write a Workload chooses the name of its owner.
TEST_F(CallerLocationsTest, NamesOfOwnersReachNoOtherPath) {
  for (const char* name : {"x/proxy/any", "x/log?follow=true", "..", "a b", "x%2Fy", "X"}) {
    Add("team-a", name, "v1", "Pod");
    AddJob("team-a", name);
  }
  AddJob("team-a", std::string(64, 'a'));  // too long for a label
  EXPECT_EQ(RemarksOf(Locations()), std::vector<std::string>(13, "t4"));
  EXPECT_THAT(api_.asked, ElementsAre());
}

}  // namespace
}  // namespace berth::program
