// Goal: the tables of kueuectl's list, column by column, and its filters.
#include "view/screens/kueue_tables.h"

#include <gtest/gtest.h>

#include "base/rfc3339.h"

namespace berth::view {
namespace {

using Json = nlohmann::json;

Json Workloads() {
  return Json::parse(R"({"items": [
    {"metadata": {"name": "job-a", "namespace": "x", "creationTimestamp": "2026-01-01T00:00:00Z",
       "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "a"}]},
     "spec": {"queueName": "q"}},
    {"metadata": {"name": "job-b", "namespace": "x", "creationTimestamp": "2026-01-01T00:05:00Z",
       "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "b"}]},
     "spec": {"queueName": "q"},
     "status": {"admission": {"clusterQueue": "team"}, "conditions": [
       {"type": "QuotaReserved", "status": "True"},
       {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:06:00Z"},
       {"type": "Finished", "status": "True", "lastTransitionTime": "2026-01-01T00:07:00Z"}]}},
    {"metadata": {"name": "plain", "namespace": "x", "creationTimestamp": "2026-01-01T00:09:00Z"},
     "spec": {"queueName": "other"},
     "status": {"conditions": [{"type": "QuotaReserved", "status": "True"}]}}]})");
}

KueueTable TableOf(Json list) {
  KueueTable table{.list = std::move(list), .now = *ParseTime("2026-01-01T00:10:00Z")};
  table.local_queues = Json::parse(
      R"({"items": [{"metadata": {"name": "q", "namespace": "x"}, "spec": {"clusterQueue": "team"}}]})");
  return table;
}

TEST(KueueTables, WorkloadsAreShownWithStatusAndPosition) {
  KueueTable table = TableOf(Workloads());
  EXPECT_EQ(WaitingQueues(table), std::vector<std::string>{"x/q"});
  AddPositions(Json::parse(R"({"items": [{"metadata": {"name": "job-a", "namespace": "x"},
                                          "positionInLocalQueue": 3}]})"),
               table.positions);
  EXPECT_EQ(RenderWorkloads(table, {}),
            "NAME   JOB TYPE   JOB NAME  LOCALQUEUE  CLUSTERQUEUE  STATUS         POSITION IN QUEUE"
            "  EXEC TIME  AGE\n"
            "job-a  job.batch  a         q           team          PENDING        3                "
            "             10m\n"
            "job-b  job.batch  b         q           team          FINISHED                        "
            "  60s        5m\n"
            "plain                       other                     QUOTARESERVED                   "
            "             60s\n");
  table.with_namespace = true;
  EXPECT_EQ(RenderWorkloads(table, {}).substr(0, 9), "NAMESPACE");
}

TEST(KueueTables, FiltersWorkloadsByStatusQueueAndOwner) {
  const auto names = [](const KueueFilter& filter) {
    KueueTable table = TableOf(Workloads());
    table.filter = filter;
    Filter(table, true);
    std::string text;
    for (const Json& item : table.list["items"]) {
      text += item["metadata"]["name"].get<std::string>() + " ";
    }
    return text;
  };
  EXPECT_EQ(names({}), "job-a job-b plain ");
  EXPECT_EQ(names({.statuses = {"pending"}}), "job-a plain ");
  EXPECT_EQ(names({.statuses = {"quotareserved"}}), "plain ");
  EXPECT_EQ(names({.statuses = {"admitted", "finished"}}), "job-b ");
  EXPECT_EQ(names({.statuses = {"all"}}), "job-a job-b plain ");
  EXPECT_EQ(names({.cluster_queue = "team"}), "job-a job-b ");
  EXPECT_EQ(names({.local_queue = "other"}), "plain ");
  EXPECT_EQ(names({.owner = "job/a"}), "job-a ");
  EXPECT_EQ(names({.owner = "jobs.batch/b"}), "job-b ");
  EXPECT_EQ(names({.owner = "job.other/b"}), "");
  EXPECT_EQ(names({.owner = "a"}), "");
}

TEST(KueueTables, ShowsQueuesAndFlavorsInTables) {
  KueueTable queues = TableOf(Json::parse(R"({"items": [
    {"metadata": {"name": "team", "creationTimestamp": "2026-01-01T00:00:00Z"},
     "spec": {"cohortName": "all"},
     "status": {"pendingWorkloads": 2, "admittedWorkloads": 1,
                "conditions": [{"type": "Active", "status": "True"}]}},
    {"metadata": {"name": "new", "creationTimestamp": "2026-01-01T00:00:00Z"}, "spec": {}}]})"));
  EXPECT_EQ(RenderClusterQueues(queues, {}),
            "NAME  COHORT  PENDING WORKLOADS  ADMITTED WORKLOADS  ACTIVE  AGE\n"
            "team  all     2                  1                   true    10m\n"
            "new           0                  0                   false   10m\n");
  queues.filter.active = {"false"};
  Filter(queues, false);
  EXPECT_EQ(queues.list["items"].size(), 1U);
  const KueueTable local = TableOf(Json::parse(R"({"items": [
    {"metadata": {"name": "q", "creationTimestamp": "2026-01-01T00:00:00Z"},
     "spec": {"clusterQueue": "team"}, "status": {"pendingWorkloads": 2}}]})"));
  EXPECT_EQ(RenderLocalQueues(local, {}),
            "NAME  CLUSTERQUEUE  PENDING WORKLOADS  ADMITTED WORKLOADS  AGE\n"
            "q     team          2                  0                   10m\n");
  const KueueTable flavors = TableOf(Json::parse(R"({"items": [
    {"metadata": {"name": "spot", "creationTimestamp": "2026-01-01T00:00:00Z"},
     "spec": {"nodeLabels": {"a": "b", "c": "d"}}}]})"));
  EXPECT_EQ(RenderResourceFlavors(flavors, {}), "NAME  NODE LABELS  AGE\nspot  a=b, c=d     10m\n");
  EXPECT_EQ(RenderResourceFlavors(TableOf(Json::parse(R"({"items": []})")), {}),
            "No resources found\n");
}

}  // namespace
}  // namespace berth::view
