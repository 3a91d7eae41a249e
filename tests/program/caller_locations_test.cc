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

class CallerLocationsTest : public ::testing::Test {
 protected:
  CallerLocationsTest() {
    Add("team-a", "train", "batch/v1", "Job");
    Add("team-a", "tune", "batch/v1", "Job");
    Add("team-a", "set", "jobset.x-k8s.io/v1alpha2", "JobSet");
    Add("team-a", "one", "v1", "Pod");
    Add("team-a", "ray", "ray.io/v1", "RayJob");
    Add("team-b", "other", "batch/v1", "Job");
    auto waiting = std::make_shared<api::Workload>(view::MakeWorkload("team-a", "waits", "q", 60));
    objects_.workloads.push_back(waiting);
    ids_.push_back(waiting->meta.key().ToString());
    std::sort(ids_.begin(), ids_.end());

    const std::string pods = "/api/v1/namespaces/team-a/pods";
    const auto list = [&](const std::string& selector, const Json& items) {
      api_.answers[pods + "?labelSelector=" + selector + "&limit=1000"] = {{"items", items}};
    };
    const char* job = "batch.kubernetes.io/job-name";
    const char* set = "jobset.sigs.k8s.io/jobset-name";
    list("batch.kubernetes.io%2Fjob-name%20in%20%28train%2Ctune%29",
         Json::array({PodOn("team-a", "p0", "n1", {{job, "train"}}),
                      PodOn("team-a", "p1", "n2", {{job, "train"}}),
                      PodOn("team-a", "p2", "n3", {{job, "tune"}})}));
    list("jobset.sigs.k8s.io%2Fjobset-name%20in%20%28set%29",
         Json::array({PodOn("team-a", "p3", "n4", {{job, "set-workers-0"}, {set, "set"}})}));
    api_.answers[pods + "/one"] = PodOn("team-a", "one", "n5", Json::object());
  }

  void Add(const std::string& space, const std::string& name, const std::string& version,
           const std::string& kind) {
    api::Workload workload = view::MakeRunning(space, name, "cq", {{"cpu", 1000}});
    workload.meta.owner_references = {
        {.api_version = version, .kind = kind, .name = name, .uid = "u", .controller = true}};
    ids_.push_back(workload.meta.key().ToString());
    objects_.workloads.push_back(std::make_shared<api::Workload>(std::move(workload)));
  }

  Json Locations(std::vector<std::string> namespaces) {
    const readapi::CallerRequest request{.kind = readapi::CallerRequest::Kind::kLocations,
                                         .namespaces = std::move(namespaces),
                                         .workloads = ids_};
    const Result<Json> found = CallerLocations(api_, request, objects_, view::ViewTime());
    EXPECT_TRUE(found) << (found ? "" : found.error().message);
    return found ? *found : Json();
  }

  static std::vector<std::string> RemarksOf(const Json& locations) {
    std::vector<std::string> remarks;
    for (const Json& item : locations.at("items")) remarks.push_back(item.at("remark"));
    return remarks;
  }

  ApiOfAnswers api_;
  MirrorObjects objects_;
  std::vector<std::string> ids_;
};

TEST_F(CallerLocationsTest, RunningWorkloadsOfEachKindNameTheNodesOfTheirPods) {
  const Json found = Locations({"team-a"});
  EXPECT_THAT(RemarksOf(found), ElementsAre("t4: n1, n2", "t4: n3", "t4: n4", "t4: n5", "t4"));
  EXPECT_EQ(found.at("hidden"), Json::array());
}

TEST_F(CallerLocationsTest, PodsThatTheCallerMayNotListAreHidden) {
  const Json found = Locations({});
  EXPECT_THAT(RemarksOf(found),
              ElementsAre("t4: n1, n2", "t4: n3", "t4: n4", "t4: n5", "t4", "t4"));
  EXPECT_EQ(found.at("hidden"), Json::array({"pods"}));
}

}  // namespace
}  // namespace berth::program
