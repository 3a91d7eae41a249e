// Goal: the tables, the JSON and the CSV of history and report, as they are read.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/ledger/records.h"
#include "view/screens/history_screen.h"
#include "view/screens/report_page.h"

namespace berth::view {
namespace {

using ledger::test::Admitted;
using ledger::test::Ended;
using ledger::test::Pending;

HistoryView View() {
  HistoryView view;
  ledger::AttemptRecord stopped =
      Ended(Admitted("train", 1000, 1060), 4660, ledger::kPreempted, "InClusterQueue");
  stopped.waits = {{1000, "WaitingForQuota"}};
  stopped.reserved = 1050;
  stopped.preemptor = "p";
  view.attempts = {stopped, Pending("train", 4660, 2)};
  view.requests = {{.uid = "r",
                    .namespace_name = "team-a",
                    .name = "job-train-dws-1",
                    .class_name = "queued",
                    .workload = "job-train",
                    .created = 1050,
                    .provisioned = 1060}};
  view.preemptors = {{"p", "team-b/job-urgent"}};
  view.now = ledger::FromSeconds(4720);
  return view;
}

TEST(HistoryScreen, TextHasRowsOfAttemptsAndOfRequestsForCapacity) {
  EXPECT_EQ(
      RenderHistory(View(), {}),
      "QUEUED                NAMESPACE  JOB        ATTEMPT  QUEUE  RAN  RESOURCES"
      "                             OUTCOME                                           "
      "LOST (HOURS)                  WAITED FOR\n"
      "1970-01-01T00:16:40Z  team-a     job/train        1  main   60m  "
      "cpu=2 (h100) nvidia.com/gpu=1 (h100)  "
      "Preempted (InClusterQueue) for team-b/job-urgent  cpu=2.00 nvidia.com/gpu=1.00  "
      "WaitingForQuota 50s, AdmissionChecks 10s\n"
      "1970-01-01T01:17:40Z  team-a     job/train        2  main     -  cpu=2 nvidia.com/gpu=1   "
      "             waiting                                           -                            "
      " "
      "WaitingForQuota 60s\n"
      "\n"
      "REQUESTED             NAMESPACE  REQUEST          CLASS   WAITED  OUTCOME\n"
      "1970-01-01T00:17:30Z  team-a     job-train-dws-1  queued  10s     Provisioned\n");
  EXPECT_EQ(RenderHistory({}, {}), "the ledger has nothing of that\n");
}

TEST(HistoryScreen, JsonHasTimesWaitsAndDestroyedHours) {
  const nlohmann::json json = HistoryJson(View());
  ASSERT_EQ(json["attempts"].size(), 2U);
  const nlohmann::json& first = json["attempts"][0];
  EXPECT_EQ(first["admitted"], "1970-01-01T00:17:40Z");
  EXPECT_EQ(first["preemptor"], "team-b/job-urgent");
  EXPECT_EQ(first["waits"][1],
            nlohmann::json(
                {{"cause", "AdmissionChecks"}, {"from", "1970-01-01T00:17:30Z"}, {"seconds", 10}}));
  EXPECT_TRUE(json["attempts"][1]["ended"].is_null());
  EXPECT_EQ(first["destroyedHours"], nlohmann::json({{"cpu", 2.0}, {"nvidia.com/gpu", 1.0}}));
  EXPECT_EQ(json["attempts"][1]["destroyedHours"], nlohmann::json::object());
  EXPECT_EQ(json["capacityRequests"][0]["class"], "queued");
}

TEST(ReportScreen, TableJsonAndCsvHaveTheSameLines) {
  auto view = View();
  view.attempts[1].local_queue = "a,\"b\"";
  const ledger::Period period{0, 4720};
  const auto lines = MakeReport(view.attempts, {}, ledger::ReportBy::kQueue, "", period);
  EXPECT_EQ(RenderReport(lines, "QUEUE", {}),
            "QUEUE         WORKLOADS  ATTEMPTS  SUCCEEDED  FAILED  PREEMPTED  EVICTED  WAITED  "
            "WAITED (HOURS)                USED (HOURS)                  DESTROYED (HOURS)\n"
            "team-a/a,\"b\"          1         1          0       0          0        0     60s  "
            "cpu=0.03 nvidia.com/gpu=0.02  -                             -\n"
            "team-a/main           1         1          0       0          1        0     60s  "
            "cpu=0.03 nvidia.com/gpu=0.02  cpu=2.00 nvidia.com/gpu=1.00  "
            "cpu=2.00 nvidia.com/gpu=1.00\n");
  EXPECT_EQ(
      ReportCsv(lines, "queue"),
      "queue,workloads,attempts,succeeded,failed,preempted,evicted,deleted,finished,waits,"
      "waited hours,cpu hours waited,cpu hours used,cpu hours destroyed,"
      "nvidia.com/gpu hours waited,nvidia.com/gpu hours used,"
      "nvidia.com/gpu hours destroyed,node hours charged,gpu hours charged,cost usd,"
      "cost usd measured,unpriced,stops with checkpoints,hours lost at most by claims,hours "
      "lost\r\n"
      "\"team-a/a,\"\"b\"\"\",1,1,0,0,0,0,0,0,1,0.0167,0.0333,0.0000,0.0000,0.0167,0.0000,0.0000,"
      "0.0000,0.0000,0.0000,0.0000,0,0,0.0000,0.0000\r\n"
      "team-a/main,1,1,0,0,1,0,0,0,1,0.0167,0.0333,2.0000,2.0000,0.0167,1.0000,1.0000,"
      "0.0000,0.0000,0.0000,0.0000,1,0,0.0000,0.0000\r\n");
  const nlohmann::json json = ReportJson(lines, period, "queue");
  EXPECT_EQ(json["to"], "1970-01-01T01:18:40Z");
  EXPECT_EQ(json["lines"][1]["outcomes"]["Preempted"], 1);
  EXPECT_EQ(RenderReport({}, "QUEUE", {}), "the ledger has nothing of that time\n");
}

// A spreadsheet computes what begins like this.
TEST(ReportScreen, KeysInCsvAreNoFormulas) {
  for (const char* key : {"=cmd|' /C calc'!A0", "+1+1", "-1+2", "@SUM(A1)", "\t=1"}) {
    ledger::ReportLine line;
    line.key = key;
    const std::string text = ReportCsv({line}, "user");
    EXPECT_NE(text.find("\r\n'" + line.key + ","), std::string::npos) << text;
  }
}

TEST(ReportScreen, PrioritiesInCsvAreNumbers) {
  ledger::ReportLine line;
  line.key = "-10";
  EXPECT_NE(ReportCsv({line}, "priority").find("\r\n-10,"), std::string::npos);
}

TEST(ReportScreen, TableAndCsvHaveChargesAndCosts) {
  ledger::ReportLine line;
  line.key = "vision";
  line.charged_hours = {{"berth.dev/gpus", 44}, {"nodes", 5.5}};
  line.cost_nano = 165'500'000'000;
  line.measured_nano = 165'000'000'000;
  line.unpriced = 2;
  ledger::ReportLine other;
  other.key = "text";
  const std::string table = RenderReport({line, other}, "TEAM", {});
  EXPECT_NE(table.find("CHARGED (HOURS)                  COST (USD)"), std::string::npos) << table;
  EXPECT_NE(table.find("berth.dev/gpus=44.00 nodes=5.50  165.50 +2?"), std::string::npos) << table;
  EXPECT_NE(
      ReportCsv({line}, "team").find(",5.5000,44.0000,165.5000,165.0000,2,0,0.0000,0.0000\r\n"),
      std::string::npos);
  const nlohmann::json json = ReportJson({line}, {}, "team")["lines"][0];
  EXPECT_EQ(json["costUsd"], 165.5);
  EXPECT_EQ(json["measuredUsd"], 165.0);
  EXPECT_EQ(json["chargedHours"]["nodes"], 5.5);
  const std::string page = ReportPage({line, other}, "TEAM", {0, 86400});
  EXPECT_NE(page.find("165.50 +2?"), std::string::npos);
  EXPECT_NE(page.find("<h2>Cost</h2>"), std::string::npos);
  EXPECT_NE(page.find("style=\"width:100.00%\"></div></div></td><td class=\"right\">165.50</td>"),
            std::string::npos);
  EXPECT_EQ(ReportPage({other}, "TEAM", {0, 86400}).find("<h2>Cost</h2>"), std::string::npos);
}

TEST(ReportScreen, StopsOfJobsWithCheckpointsHaveAColumn) {
  ledger::ReportLine line;
  line.key = "vision";
  line.stops = {.stops = 12, .claimed = 6 * 3600, .lost = 20 * 3600, .unmeasured = 3};
  ledger::ReportLine other;
  other.key = "text";
  const std::string table = RenderReport({line, other}, "TEAM", {});
  EXPECT_NE(table.find("STOPS WITH CHECKPOINTS"), std::string::npos) << table;
  EXPECT_NE(table.find("12 cost 20h, claimed 6h +3?"), std::string::npos) << table;
  EXPECT_EQ(RenderReport({other}, "TEAM", {}).find("STOPS"), std::string::npos);
  EXPECT_NE(ReportCsv({line}, "team").find(",12,6.0000,20.0000\r\n"), std::string::npos);
  const nlohmann::json stops = ReportJson({line}, {}, "team")["lines"][0]["stops"];
  EXPECT_EQ(stops,
            nlohmann::json(
                {{"measured", 12}, {"unmeasured", 3}, {"claimedHours", 6.0}, {"lostHours", 20.0}}));
}

TEST(HistoryScreen, StatesOverTimeHaveTheCausesOfThePage) {
  ledger::StreamedStates states({1000, 1300}, 2);
  ledger::AttemptRecord waits = Pending("train", 1000);
  waits.waits = {{1000, "WaitingForQuota"}, {1100, "ExceedsMaxQuota"}, {1149, "Deactivated"}};
  states.Add(waits);
  states.Add(Admitted("eval", 1000, 1000));
  EXPECT_EQ(WorkloadStatesJson(states, {{}, {{"cpu", 4000}}}), nlohmann::json::parse(R"({
    "times": [{"from": "1970-01-01T00:16:40Z", "to": "1970-01-01T00:19:10Z"},
              {"from": "1970-01-01T00:19:10Z", "to": "1970-01-01T00:21:40Z"}],
    "parts": [{"waiting": {"quota": 0.67, "too large": 0.33}, "reserved": 0, "running": 1, "quota": [],
               "used": [{"resource": "cpu", "unit": "milliCPU", "amount": 2000},
                        {"resource": "nvidia.com/gpu", "unit": "items", "amount": 1}]},
              {"waiting": {}, "reserved": 0, "running": 1,
               "quota": [{"resource": "cpu", "unit": "milliCPU", "amount": 4000}],
               "used": [{"resource": "cpu", "unit": "milliCPU", "amount": 2000},
                        {"resource": "nvidia.com/gpu", "unit": "items", "amount": 1}]}]})"));
}

TEST(ReportTest, CountsOfGpusReplaceShares) {
  ledger::ReportLine line;
  line.key = "team/q";
  line.used_hours = {{"berth.dev/gpus", 2}, {"cpu", 8}, {"nvidia.com/gpu", 6}};
  const std::string text = RenderReport({line}, "QUEUE", {});
  EXPECT_NE(text.find("berth.dev/gpus=2.00 cpu=8.00"), std::string::npos) << text;
  EXPECT_EQ(text.find("nvidia.com/gpu"), std::string::npos);
}

TEST(ReportTest, ThePageHasBarsOfUsedAndDestroyedHours) {
  ledger::ReportLine line;
  line.key = "<vision> & co";
  line.attempts = 3;
  line.used_hours = {{"berth.dev/gpus", 4}, {"cpu", 8}};
  line.destroyed_hours = {{"berth.dev/gpus", 1}};
  ledger::ReportLine other = line;
  other.key = "";
  other.used_hours = {{"berth.dev/gpus", 2}};
  other.destroyed_hours.clear();
  const std::string page = ReportPage({line, other}, "TEAM", {0, 86400});
  EXPECT_NE(page.find("GPU hours"), std::string::npos);
  EXPECT_NE(page.find("&lt;vision&gt; &amp; co"), std::string::npos);
  EXPECT_EQ(page.find("<vision>"), std::string::npos);
  EXPECT_NE(page.find("class=\"used\" style=\"width:75.00%\"></div>"
                      "<div class=\"lost\" style=\"width:25.00%\"></div>"),
            std::string::npos);
  EXPECT_NE(page.find("class=\"used\" style=\"width:50.00%\"></div>"
                      "<div class=\"lost\" style=\"width:0.00%\"></div>"),
            std::string::npos);
  EXPECT_NE(page.find("1970-01-01T00:00:00Z to 1970-01-02T00:00:00Z"), std::string::npos);
  EXPECT_NE(ReportPage({}, "TEAM", {0, 1}).find("has nothing of that time"), std::string::npos);
}

}  // namespace
}  // namespace berth::view
