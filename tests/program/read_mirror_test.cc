// Goal: the rows of the read API follow the objects, have the forms of `berth … -o json`, and name
// nothing of another namespace to readers of one.
//
// Method: objects into a mirror, rows out of its model, compared with ListJson and StatusJson.
#include "program/read_mirror.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "api/codec/start_forecast.h"
#include "api/labels.h"
#include "api/reasons.h"
#include "tests/view/view_builder.h"
#include "view/screens/list.h"
#include "view/screens/status.h"

namespace berth::program {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class ViewClock final : public Clock {
 public:
  WallTime Now() const override { return view::ViewTime(); }
  SteadyTime SteadyNow() const override { return steady; }
  SteadyTime steady{};
};

template <typename T>
void Add(const T& object, Changed<T>& changed) {
  changed[object.meta.key()] = std::make_shared<const T>(object);
}

class ReadMirrorTest : public ::testing::Test {
 protected:
  void Take(const ReadBatch& batch) {
    mirror_.Take(batch);
    for (int i = 0; i < 100; ++i) {
      const auto again = mirror_.Work(3);
      if (!again) return;
      clock_.steady += *again;
    }
    ADD_FAILURE() << "the mirror does not come to rest";
  }
  ReadBatch BatchOf(const view::ClusterView& view) {
    ReadBatch batch;
    for (const auto& each : view.workloads) Add(each, batch.workloads);
    for (const auto& each : view.local_queues) Add(each, batch.local_queues);
    for (const auto& each : view.cluster_queues) Add(each, batch.cluster_queues);
    for (const auto& each : view.cohorts) Add(each, batch.cohorts);
    for (const auto& each : view.provisioning_requests) Add(each, batch.requests);
    return batch;
  }
  Json Rows(std::size_t resource,
            const readapi::Sight& sight = {.everywhere = true, .namespaces = {}}) {
    return Json::parse(model_.ReadPage(resource, {}, sight).body).at("items");
  }

  ViewClock clock_;
  readapi::Model model_{"e"};
  ReadMirror mirror_{clock_, model_};
};

// `wanted`, but for keys that a row does not have and those of `extra`.
Json Common(const Json& row, const Json& wanted) {
  Json common = Json::object();
  for (const auto& [key, value] : row.items()) {
    if (wanted.contains(key)) common[key] = wanted.at(key);
  }
  return common;
}
Json Shared(const Json& row, const Json& wanted) {
  Json shared = Json::object();
  for (const auto& [key, value] : row.items()) {
    if (wanted.contains(key)) shared[key] = value;
  }
  return shared;
}

TEST_F(ReadMirrorTest, MachinesAreTheSumsOfNodes) {
  const auto node = [](const std::string& name, api::ConditionStatus ready, api::Amount gpus) {
    api::Node made;
    made.meta.name = name;
    made.allocatable = {{"nvidia.com/gpu", gpus}, {"hugepages-2Mi", 0}};
    made.conditions.push_back({.type = "Ready", .status = ready});
    return made;
  };
  ReadBatch batch;
  Add(node("a", api::ConditionStatus::kTrue, 8), batch.nodes);
  Add(node("b", api::ConditionStatus::kUnknown, 8), batch.nodes);
  api::Node cordoned = node("c", api::ConditionStatus::kTrue, 4);
  cordoned.unschedulable = true;
  Add(cordoned, batch.nodes);
  Take(batch);
  using Machines = std::map<std::string, MachineTotal>;
  EXPECT_EQ(mirror_.Objects().machines, (Machines{{"nvidia.com/gpu", {8, 20}}}));
  ReadBatch later;
  Add(node("b", api::ConditionStatus::kTrue, 8), later.nodes);
  later.nodes[{"", "c"}] = nullptr;
  Take(later);
  EXPECT_EQ(mirror_.Objects().machines, (Machines{{"nvidia.com/gpu", {16, 16}}}));
}

TEST_F(ReadMirrorTest, MachinesAreCopiedForScreensThatShowThem) {
  ReadBatch batch;
  api::Node node;
  node.meta.name = "a";
  Add(node, batch.nodes);
  api::Pod pod;
  pod.meta.namespace_name = "team-a";
  pod.meta.name = "p";
  Add(pod, batch.pods);
  Take(batch);
  EXPECT_TRUE(mirror_.Objects().nodes.empty());
  const MirrorObjects early = mirror_.Objects(MirrorPart::kMachines);
  EXPECT_EQ(early.nodes.size(), 1U);
  EXPECT_EQ(early.pods.size(), 1U);
  EXPECT_FALSE(early.has_pods) << "others may be missing";
  ReadBatch last;
  last.has_all_pods = true;
  last.pods[pod.meta.key()] = nullptr;
  Take(last);
  const MirrorObjects objects = mirror_.Objects(MirrorPart::kMachines);
  EXPECT_TRUE(objects.pods.empty());
  EXPECT_TRUE(objects.has_pods);
}

TEST_F(ReadMirrorTest, RowsEqualThoseOfTheCommands) {
  view::ClusterView view = view::DwsView();
  view.node_pools.clear();
  Take(BatchOf(view));
  const Json rows = Rows(readapi::kWorkloads);
  const Json list = view::ListJson(view, {}).at("items");
  ASSERT_EQ(rows.size(), list.size());
  EXPECT_EQ(Shared(rows[0], list[0]), Common(rows[0], list[0]));
  EXPECT_EQ(rows[0].at("cause"), "capacity");
  EXPECT_THAT(rows[0].at("remark").get<std::string>(), HasSubstr("asked at 2026-11-17T"))
      << "an instant: the row is read later";
  view.namespace_name = "default";  // counts of the status
  const Json status = view::StatusJson(view, {});
  const Json queues = Rows(readapi::kQueues);
  ASSERT_EQ(queues.size(), status.at("clusterQueues").size());
  EXPECT_EQ(Shared(queues[0], status["clusterQueues"][0]),
            Common(queues[0], status["clusterQueues"][0]));
  const Json requests = Rows(readapi::kCapacityRequests);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(Shared(requests[0], status["capacityRequests"][0]),
            Common(requests[0], status["capacityRequests"][0]));
  EXPECT_EQ(requests[0].at("workload"), view.workloads[0].meta.name);
}

TEST_F(ReadMirrorTest, RowChangesWithTheObjectsThatItShows) {
  ReadBatch first;
  Add(view::MakeWorkload("team-a", "w", "q", 60), first.workloads);
  Take(first);
  const auto row = [this] { return Rows(readapi::kWorkloads).at(0); };
  EXPECT_EQ(row().at("clusterQueue"), "");
  EXPECT_EQ(row().at("cause"), "misconfigured");
  ReadBatch local;
  Add(view::MakeLocalQueue("team-a", "q", "cq"), local.local_queues);
  Take(local);
  EXPECT_EQ(row().at("clusterQueue"), "cq");
  EXPECT_THAT(row().at("remark").get<std::string>(), HasSubstr("ClusterQueue cq, which does not"));
  ReadBatch queue;
  Add(view::MakeQueue("cq", "", {{"cpu", 1000}}, {}), queue.cluster_queues);
  Take(queue);
  EXPECT_EQ(row().at("cause"), "queued");
  ReadBatch gone;
  gone.workloads[{"team-a", view::MakeWorkload("team-a", "w", "q", 60).meta.name}] = nullptr;
  gone.local_queues[{"team-a", "q"}] = nullptr;
  gone.cluster_queues[{"", "cq"}] = nullptr;
  Take(gone);
  for (const std::size_t resource :
       {readapi::kWorkloads, readapi::kQueues, readapi::kLocalQueues}) {
    EXPECT_TRUE(Rows(resource).empty()) << resource;
  }
}

TEST_F(ReadMirrorTest, QueueRowsChangeWithTheParentOfTheirCohort) {
  ReadBatch batch;
  Add(view::MakeQueue("a", "org", {{"cpu", 1000}}, {{"cpu", 3000}}), batch.cluster_queues);
  Add(view::MakeQueue("b", "org", {{"cpu", 4000}}, {}), batch.cluster_queues);
  api::Cohort org;
  org.meta.name = "org";
  org.spec.parent_name = "root";
  Add(org, batch.cohorts);
  Add(view::MakeLocalQueue("team-a", "q", "a"), batch.local_queues);
  Take(batch);
  const Json before = Rows(readapi::kQueues);
  ASSERT_EQ(before.size(), 2U);
  EXPECT_EQ(before[0].at("parents"), Json::array({"root"}));
  // A tenant sees the queue that the own LocalQueue feeds.
  const Json own = Rows(readapi::kQueues, {.everywhere = false, .namespaces = {"team-a"}});
  ASSERT_EQ(own.size(), 1U);
  EXPECT_EQ(own[0].at("name"), "a");
  org.spec.parent_name = "";
  ReadBatch cohort;
  Add(org, cohort.cohorts);
  Take(cohort);
  EXPECT_EQ(Rows(readapi::kQueues)[1].at("parents"), Json::array());
}

// root -> middle -> leaf with queue a; root has queue b. A cohort without queues of its own moves.
TEST_F(ReadMirrorTest, QueueRowsChangeWithAnAncestorOfTheirCohort) {
  const auto cohort = [](const std::string& name, const std::string& parent) {
    api::Cohort made;
    made.meta.name = name;
    made.spec.parent_name = parent;
    return made;
  };
  ReadBatch batch;
  Add(cohort("middle", "root"), batch.cohorts);
  Add(cohort("leaf", "middle"), batch.cohorts);
  Add(view::MakeQueue("a", "leaf", {{"cpu", 1000}}, {{"cpu", 3000}}), batch.cluster_queues);
  Add(view::MakeQueue("b", "root", {{"cpu", 4000}}, {}), batch.cluster_queues);
  Take(batch);
  const Json together = Rows(readapi::kQueues);
  ASSERT_EQ(together.size(), 2U);
  EXPECT_EQ(together[0].at("parents"), Json::array({"middle", "root"}));
  ReadBatch moved;
  Add(cohort("middle", ""), moved.cohorts);
  Take(moved);
  const Json apart = Rows(readapi::kQueues);
  EXPECT_EQ(apart[0].at("parents"), Json::array({"middle"}));
  EXPECT_NE(apart[1], together[1]) << "b lends nothing to a";
}

TEST_F(ReadMirrorTest, TurnsSortWorkloadsInTheOrderOfTheQueue) {
  ReadBatch batch;
  const auto add = [&batch](const std::string& name, int priority, std::int64_t age_seconds) {
    api::Workload workload = view::MakeWorkload("team-a", name, "q", age_seconds);
    workload.spec.priority = priority;
    if (name == "c") {
      workload.meta.annotations[api::kEtaAnnotation] =
          api::EncodeStartForecast({.at = view::ViewTime(),
                                    .p10 = view::ViewTime(),
                                    .p50 = view::ViewTime(),
                                    .p90 = std::nullopt});
      // A preempted workload keeps its place.
      workload.status.conditions = {
          view::TrueCondition(api::kEvicted, api::kPreempted, "", view::SecondsAgo(1))};
    }
    Add(workload, batch.workloads);
  };
  add("a", -5, 900);
  add("b", 0, 60);
  add("c", 0, 120);
  add("d", 2'000'000'000, 1);
  Add(view::MakeRunning("team-a", "e", "cq", {{"cpu", 1}}), batch.workloads);
  Take(batch);
  readapi::Query query{.sort = readapi::Resources()[readapi::kWorkloads].Find("turn")};
  std::string order;
  const Json rows = Json::parse(
      model_.ReadPage(readapi::kWorkloads, query, {.everywhere = true, .namespaces = {}}).body);
  for (const Json& row : rows.at("items")) {
    order += row.at("name").get<std::string>() + (row.at("turn").is_null() ? "-" : "");
    EXPECT_EQ(row.at("eta").is_null(), row.at("name") != "c");
  }
  EXPECT_EQ(order, "dcbae-");
  EXPECT_EQ(rows["items"][1]["eta"]["p90"], Json());
}

TEST_F(ReadMirrorTest, QueueWithItsOwnOrderGivesTheTurns) {
  ReadBatch batch;
  Add(view::MakeLocalQueue("team-a", "q", "cq"), batch.local_queues);
  for (const char* name : {"a", "b", "c"}) {
    Add(view::MakeWorkload("team-a", name, "q", 60), batch.workloads);
  }
  const auto key_of = [&batch](std::size_t number) {
    return std::next(batch.workloads.begin(), static_cast<std::ptrdiff_t>(number))->first;
  };
  batch.turns["cq"] = {{key_of(0), 3}, {key_of(1), 1}, {key_of(2), 2}};
  Take(batch);
  readapi::Query query{.sort = readapi::Resources()[readapi::kWorkloads].Find("turn")};
  const auto order = [&] {
    std::string names;
    const Json rows = Json::parse(
        model_.ReadPage(readapi::kWorkloads, query, {.everywhere = true, .namespaces = {}}).body);
    for (const Json& row : rows.at("items")) names += row.at("name").get<std::string>();
    return names;
  };
  EXPECT_EQ(order(), "bca");
  ReadBatch later;
  later.turns["cq"] = {{key_of(0), 0}, {key_of(1), 1}, {key_of(2), 2}};
  Take(later);
  EXPECT_EQ(order(), "abc");
  EXPECT_EQ(mirror_.Objects().turns.at(key_of(1)), 1);
  ReadBatch none;
  none.turns["cq"] = {};
  Take(none);
  EXPECT_TRUE(mirror_.Objects().turns.empty());
  EXPECT_EQ(Rows(readapi::kWorkloads)[0]["turn"], Rows(readapi::kWorkloads)[1]["turn"]);
}

// A cycle of cohorts is a mistake that the rows must survive.
TEST_F(ReadMirrorTest, RowsSurviveACycleOfCohorts) {
  ReadBatch batch;
  for (const auto& [name, parent] : {std::pair("x", "y"), std::pair("y", "x")}) {
    api::Cohort cohort;
    cohort.meta.name = name;
    cohort.spec.parent_name = parent;
    Add(cohort, batch.cohorts);
  }
  Add(view::MakeQueue("a", "x", {{"cpu", 1000}}, {}), batch.cluster_queues);
  Take(batch);
  EXPECT_EQ(Rows(readapi::kQueues).size(), 1U);
}

// Own quota, and that of what is below; a Cohort that nothing names any more has no row.
TEST_F(ReadMirrorTest, CohortsHaveTheSumsOfTheirTrees) {
  ReadBatch batch;
  api::Cohort company;
  company.meta.name = "company";
  company.spec.fair_weight_nano = 2'000'000'000;
  company.spec.resource_groups = {
      {{"cpu"}, {{"t4", {{.resource = "cpu", .nominal_quota = 500, .lending_limit = 100}}}}}};
  api::Cohort unit;
  unit.meta.name = "unit";
  unit.spec.parent_name = "company";
  Add(company, batch.cohorts);
  Add(unit, batch.cohorts);
  Add(view::MakeQueue("a", "unit", {{"cpu", 1000}}, {{"cpu", 1700}}), batch.cluster_queues);
  Add(view::MakeQueue("b", "company", {{"cpu", 1000}}, {{"cpu", 100}}), batch.cluster_queues);
  Add(view::MakeQueue("c", "implied", {{"cpu", 1000}}, {}), batch.cluster_queues);
  Add(view::MakeLocalQueue("team-a", "q", "a"), batch.local_queues);
  Take(batch);
  const Json rows = Rows(readapi::kCohorts);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0]["name"], "company");
  EXPECT_EQ(rows[0]["fairWeightBillionths"], 2'000'000'000);
  EXPECT_EQ(rows[0]["flavors"][0]["nominal"], 500);
  EXPECT_EQ(rows[0]["flavors"][0]["lendingLimit"], 100);
  EXPECT_EQ(rows[0]["flavors"][0]["borrowingLimit"], Json());
  EXPECT_EQ(rows[0]["resources"][0]["nominal"], 2500);
  EXPECT_EQ(rows[0]["resources"][0]["used"], 1800);
  EXPECT_EQ(rows[0]["resources"][0]["borrowed"], 0);
  EXPECT_EQ(rows[1]["name"], "implied");
  EXPECT_EQ(rows[2]["parents"], Json::parse(R"(["company"])"));
  EXPECT_EQ(rows[2]["resources"][0]["borrowed"], 700);
  const Json tenant = Rows(readapi::kCohorts, {.everywhere = false, .namespaces = {"team-a"}});
  ASSERT_EQ(tenant.size(), 2U);
  EXPECT_EQ(tenant[1]["name"], "unit");
  EXPECT_EQ(mirror_.QueuesBelow("company"), (std::vector<std::string>{"a", "b"}));

  ReadBatch later;
  Add(view::MakeQueue("c", "company", {{"cpu", 1000}}, {}), later.cluster_queues);
  clock_.steady += std::chrono::seconds(1);
  Take(later);
  const Json after = Rows(readapi::kCohorts);
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[0]["resources"][0]["nominal"], 3500);
}

TEST_F(ReadMirrorTest, QueueRowsHaveTheReasonOfInactivity) {
  ReadBatch batch;
  api::ClusterQueue queue = view::MakeQueue("a", "", {{"cpu", 1000}}, {{"cpu", 300}});
  queue.status.conditions.push_back(view::FalseCondition(api::kActive, "FlavorNotFound",
                                                         "flavor t4 is missing", view::ViewTime()));
  Add(queue, batch.cluster_queues);
  Add(view::MakeQueue("b", "", {{"cpu", 1000}}, {}), batch.cluster_queues);
  Take(batch);
  const Json rows = Rows(readapi::kQueues);
  EXPECT_EQ(rows[0]["inactive"], "flavor t4 is missing");
  EXPECT_EQ(rows[0]["flavors"][0]["used"], 300);
  EXPECT_EQ(rows[1]["inactive"], "");
}

TEST_F(ReadMirrorTest, CandidatesOfOtherNamespacesNeedTheRightToAll) {
  api::Workload workload = view::MakeWorkload("team-a", "w", "q", 60);
  workload.status.conditions.push_back(view::FalseCondition(
      api::kQuotaReserved, api::kWaitingForQuota, "no quota", view::ViewTime()));
  workload.meta.annotations[api::kExplanationAnnotation] =
      R"({"tried":[{"podSet":"main","flavor":"t4","resource":"cpu","asked":4000,"available":0}],)"
      R"("victims":[{"workload":"team-b/secret","whyNot":"higher priority"},)"
      R"({"workload":"team-a/own","whyNot":"higher priority"}]})";
  ReadBatch batch;
  Add(workload, batch.workloads);
  Add(view::MakeLocalQueue("team-a", "q", "cq"), batch.local_queues);
  Add(view::MakeQueue("cq", "", {{"cpu", 1000}}, {}), batch.cluster_queues);
  Take(batch);
  const Json tenant = Rows(readapi::kWorkloads, {.everywhere = false, .namespaces = {"team-a"}});
  EXPECT_THAT(tenant.dump(), Not(HasSubstr("secret")));
  EXPECT_EQ(tenant[0]["reason"]["tried"][0]["asked"], 4000);
  EXPECT_THAT(Rows(readapi::kWorkloads).dump(), HasSubstr("team-b/secret"));
  const auto story = mirror_.Story("team-a", workload.meta.name);
  ASSERT_TRUE(story.has_value());
  EXPECT_THAT(*story, Not(HasSubstr("secret")));
  EXPECT_THAT(*story, HasSubstr("team-a/own"));
  EXPECT_THAT(*story, HasSubstr("tried"));
  EXPECT_EQ(mirror_.Story("team-a", "none"), std::nullopt);
}

TEST_F(ReadMirrorTest, QueueRowsChangeAtMostOnceASecond) {
  ReadBatch batch;
  Add(view::MakeQueue("a", "", {{"cpu", 1000}}, {}), batch.cluster_queues);
  mirror_.Take(batch);
  EXPECT_EQ(mirror_.Work(100), std::nullopt);
  batch.cluster_queues.clear();
  Add(view::MakeQueue("a", "", {{"cpu", 2000}}, {}), batch.cluster_queues);
  mirror_.Take(batch);
  EXPECT_EQ(mirror_.Work(100), Duration(std::chrono::seconds(1)));
  EXPECT_EQ(Rows(readapi::kQueues)[0]["resources"][0]["nominal"], 1000);
  clock_.steady += std::chrono::seconds(1);
  EXPECT_EQ(mirror_.Work(100), std::nullopt);
  EXPECT_EQ(Rows(readapi::kQueues)[0]["resources"][0]["nominal"], 2000);
}

}  // namespace
}  // namespace berth::program
