// Goal: a report has the attempts of its namespace and period alone; a second one within seconds is
// the same text; a period with too many attempts is refused, with the way out.
//
// Method: a ledger in a file; the report's thread; a clock of the test.
#include "program/report_source.h"

#include <future>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "ledger/ledger_file.h"
#include "tests/ledger/records.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::program {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class ReportClock final : public Clock {
 public:
  WallTime Now() const override { return ledger::FromSeconds(100'000); }
  SteadyTime SteadyNow() const override { return steady += each_reading; }
  mutable SteadyTime steady{};
  Duration each_reading{};  // later
};

class ReportSourceTest : public ::testing::Test {
 protected:
  void Write(const std::string& uid, const std::string& space) {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file) << file.error().message;
    ledger::AttemptRecord record = ledger::test::Admitted(uid, 99'000, 99'100);
    record.namespace_name = space;
    ASSERT_TRUE(file->Write({record}, 99'200));
  }
  static Result<std::string> Ask(ReportSource& source, const readapi::ReportQuery& query) {
    std::promise<Result<std::string>> made;
    source.Ask(query, [&made](Result<std::string> text) { made.set_value(std::move(text)); });
    return made.get_future().get();
  }
  static std::string Keys(const Result<std::string>& text) {
    if (!text) return text.error().message;
    const Json report = Json::parse(*text);
    std::string keys;
    for (const Json& line : report.at("lines")) {
      keys += line.at("key").get<std::string>() + " ";
    }
    return keys;
  }

  ReportClock clock_;
  local::TempFolder folder_;
  std::string path_ = folder_.File("ledger.db");
};

TEST_F(ReportSourceTest, ReportHasTheAttemptsOfTheNamespaces) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_);
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace"})), "team-a team-b ");
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace", .namespaces = {"team-a"}})), "team-a ");
  Write("c", "team-c");
  EXPECT_EQ(Keys(Ask(source, {.by = "namespace", .namespaces = {"team-a", "team-c"}})),
            "team-a team-c ");
  const auto csv = Ask(source, {.by = "namespace", .namespaces = {"team-b"}, .csv = true});
  ASSERT_TRUE(csv.has_value());
  EXPECT_TRUE(csv->starts_with("namespace,workloads,attempts")) << *csv;
  EXPECT_THAT(*csv, HasSubstr("\nteam-b,1,1,"));
}

TEST_F(ReportSourceTest, HistoryOfAQueueCountsVisibleNamespaces) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{.days = 1, .of = readapi::ReportQuery::Of::kQueue, .name = "gpus"};
  const auto admitted = [&] {
    const auto text = Ask(source, query);
    const Json history = text ? Json::parse(*text) : Json(text.error().message);
    EXPECT_EQ(history.at("parts").size(), 24U);
    return history.at("parts").back().at("admitted");
  };
  EXPECT_EQ(admitted(), 2);
  query.namespaces = {"team-a"};
  EXPECT_EQ(admitted(), 1);
  query.name = "other";
  EXPECT_EQ(admitted(), 0);
}

// Attempts of other queues do not count: neither in the history nor for the bound.
TEST_F(ReportSourceTest, HistoryOfAQueueReadsNoOtherQueue) {
  Write("a", "team-a");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    ledger::AttemptRecord other = ledger::test::Admitted("b", 99'000, 99'100);
    other.cluster_queue = "cpus";
    ASSERT_TRUE(file->Write({other}, 99'200));
  }
  ReportSource source(clock_, path_, 1);
  const auto text =
      Ask(source, {.days = 1, .of = readapi::ReportQuery::Of::kQueue, .name = "gpus"});
  ASSERT_TRUE(text.has_value()) << text.error().message;
  EXPECT_EQ(Json::parse(*text).at("parts").back().at("admitted"), 1);
}

// One reading for all queues of a tree; a queue that used nothing is not named.
TEST_F(ReportSourceTest, HistoryOfACohortHasTheUsageOfItsQueues) {
  Write("a", "team-a");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    ledger::AttemptRecord other = ledger::test::Admitted("b", 99'000, 99'100);
    other.cluster_queue = "cpus";
    ledger::AttemptRecord elsewhere = ledger::test::Admitted("c", 99'000, 99'100);
    elsewhere.cluster_queue = "of-another-cohort";
    ASSERT_TRUE(file->Write({other, elsewhere}, 99'200));
  }
  ReportSource source(clock_, path_);
  const auto text = Ask(source, {.days = 1,
                                 .of = readapi::ReportQuery::Of::kCohort,
                                 .name = "company",
                                 .queues = {"cpus", "gpus", "idle"}});
  ASSERT_TRUE(text.has_value()) << text.error().message;
  const Json history = Json::parse(*text);
  EXPECT_EQ(history.at("cohort"), "company");
  EXPECT_EQ(history.at("times").size(), 24U);
  ASSERT_EQ(history.at("queues").size(), 2U);
  EXPECT_EQ(history.at("queues").at(0).at("clusterQueue"), "cpus");
  EXPECT_EQ(history.at("queues").at(1).at("clusterQueue"), "gpus");
  EXPECT_FALSE(history.at("queues").at(1).at("parts").back().at("used").empty());
  // Queues of which the reader may see nothing do not count.
  std::vector<std::string> names;
  std::vector<ledger::Record> attempts;
  for (int queue = 100; queue < 357; ++queue) {
    names.push_back("q" + std::to_string(queue));
    ledger::AttemptRecord used = ledger::test::Admitted(names.back(), 99'000, 99'100);
    used.cluster_queue = names.back();
    attempts.emplace_back(std::move(used));
  }
  const readapi::ReportQuery many{.days = 1,
                                  .of = readapi::ReportQuery::Of::kCohort,
                                  .name = "company",
                                  .queues = std::move(names)};
  EXPECT_TRUE(Ask(source, many).has_value());
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write(attempts, 99'200));
  }
  ReportSource later(clock_, path_);  // the first one keeps its answer
  const auto refused = Ask(later, many);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("more than 256 ClusterQueues"));
}

TEST_F(ReportSourceTest, QuotaOverTimeIsForReadersOfAllNamespaces) {
  Write("a", "team-a");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Write({ledger::QuotaRecord{"gpus", "cpu", 99'000, 4000},
                             ledger::QuotaRecord{"elsewhere", "cpu", 99'000, 9000}},
                            99'200));
  }
  ReportSource source(clock_, path_);
  readapi::ReportQuery queue{.days = 1, .of = readapi::ReportQuery::Of::kQueue, .name = "gpus"};
  readapi::ReportQuery states{.days = 1, .of = readapi::ReportQuery::Of::kStates};
  const auto quota_of = [&](const readapi::ReportQuery& query) {
    const auto text = Ask(source, query);
    return text ? Json::parse(*text).at("parts").back().at("quota") : Json(text.error().message);
  };
  EXPECT_EQ(quota_of(queue), Json::array());
  EXPECT_EQ(quota_of(states), Json::array());
  queue.names_all = states.names_all = true;
  const Json quota = {{{"resource", "cpu"}, {"unit", "milliCPU"}, {"amount", 4000}}};
  EXPECT_EQ(quota_of(queue), quota);
  EXPECT_EQ(quota_of(states).at(0).at("amount"), 13'000);
}

TEST_F(ReportSourceTest, StatesOverTimeCountVisibleNamespaces) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{.days = 1, .of = readapi::ReportQuery::Of::kStates};
  const auto last = [&] {
    const auto text = Ask(source, query);
    EXPECT_TRUE(text.has_value()) << text.error().message;
    const Json states = Json::parse(*text);
    EXPECT_EQ(states.at("times").size(), 96U);
    EXPECT_EQ(states.at("parts").size(), 96U);
    return states.at("parts").back();
  };
  // Admitted a quarter of an hour ago.
  EXPECT_EQ(last().at("waiting"), Json::object());
  EXPECT_EQ(last().at("reserved"), 0);
  EXPECT_EQ(last().at("running"), 2);
  EXPECT_EQ(last().at("used").at(0).at("amount"), 4000);
  query.namespaces = {"team-a"};
  EXPECT_EQ(last().at("running"), 1);
  EXPECT_EQ(last().at("used").at(0).at("amount"), 2000);
}

// What was asked of clouds for the turns, and the nodes of the Workload.
TEST_F(ReportSourceTest, AttemptsHaveRequestsForCapacityAndNodes) {
  Write("a", "team-a");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    const auto request = [](const char* workload, const char* space) {
      return ledger::CapacityRecord{.uid = std::string("r-") + workload + space,
                                    .namespace_name = space,
                                    .name = "request",
                                    .class_name = "dws",
                                    .workload = workload,
                                    .created = 99'000,
                                    .provisioned = 99'050};
    };
    ledger::NodeTimeRecord node{.id = "n",
                                .node = "node-1",
                                .namespace_name = "team-a",
                                .workload = "job-a",
                                .workload_uid = "a",
                                .from = 99'100,
                                .until = 99'150};
    ASSERT_TRUE(file->Write(
        {request("job-a", "team-a"), request("job-x", "team-a"), request("job-a", "team-b"), node},
        99'200));
  }
  ReportSource source(clock_, path_);
  const auto text =
      Ask(source,
          {.namespaces = {"team-a"}, .of = readapi::ReportQuery::Of::kWorkload, .name = "job-a"});
  ASSERT_TRUE(text.has_value()) << text.error().message;
  const Json history = Json::parse(*text);
  ASSERT_EQ(history.at("capacityRequests").size(), 1U);
  EXPECT_EQ(history.at("capacityRequests").at(0).at("class"), "dws");
  ASSERT_EQ(history.at("nodes").size(), 1U);
  EXPECT_EQ(history.at("nodes").at(0).at("node"), "node-1");
}

// Method: a preemptor of another namespace.
TEST_F(ReportSourceTest, AttemptsNameNoOtherNamespaceToReadersOfOne) {
  Write("b", "team-b");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    auto record = ledger::test::Ended(ledger::test::Admitted("a", 99'000, 99'100), 99'150,
                                      ledger::kPreempted);
    record.preemptor = "b";
    record.message = "for team-b";
    ASSERT_TRUE(file->Write({record}, 99'200));
  }
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{.namespaces = {"team-a"},
                             .of = readapi::ReportQuery::Of::kWorkload,
                             .name = "job-a",
                             .names_all = true};
  const auto all = Ask(source, query);
  ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(Json::parse(*all).at("attempts").at(0).at("preemptor"), "team-b/job-b");
  query.names_all = false;
  const auto one = Ask(source, query);
  ASSERT_TRUE(one.has_value());
  EXPECT_EQ(Json::parse(*one).at("attempts").size(), 1U);
  EXPECT_EQ(one->find("team-b"), std::string::npos) << *one;
  query.namespaces = {"team-b"};
  EXPECT_EQ(Json::parse(*Ask(source, query)).at("attempts").size(), 0U);
}

// A hundred times as long, one second at least and twenty at most.
TEST_F(ReportSourceTest, ReportIsCachedInProportionToItsCost) {
  struct KeptRow {
    Duration took, kept;
  };
  const KeptRow rows[] = {{0ms, 1s}, {5ms, 1s}, {50ms, 5s}, {3s, 20s}};
  std::string known;
  for (const KeptRow& row : rows) {
    SCOPED_TRACE(row.took.count());
    ReportSource source(clock_, path_);
    const std::string took = std::to_string(row.took.count());
    Write("a" + took, "team-" + took);
    clock_.each_reading = row.took;
    const std::string first = Keys(Ask(source, {.by = "namespace"}));
    EXPECT_NE(first, known);
    clock_.each_reading = {};
    Write("b" + took, "more-" + took);
    clock_.steady += row.kept - 1ms;
    EXPECT_EQ(Keys(Ask(source, {.by = "namespace"})), first);
    clock_.steady += 1ms;
    known = Keys(Ask(source, {.by = "namespace"}));
    EXPECT_NE(known, first);
  }
}

// Prices are facts of the cluster: for readers of all namespaces.
TEST_F(ReportSourceTest, HistoryOfCapacityHasRequestsAndPrices) {
  Write("a", "team-a");
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    ledger::CapacityRecord request{.uid = "r",
                                   .namespace_name = "team-a",
                                   .name = "request",
                                   .class_name = "dws",
                                   .workload = "job-a",
                                   .created = 99'000,
                                   .ended = 99'050,
                                   .outcome = "Failed",
                                   .reason = "ResourcePoolExhausted"};
    ASSERT_TRUE(file->Write({request, ledger::PriceRecord{"t4", 50'000, 2'500'000'000},
                             ledger::PriceRecord{"t4", 100'500, 3'000'000'000}},
                            99'200));
  }
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{
      .days = 1, .of = readapi::ReportQuery::Of::kCapacity, .names_all = true};
  const auto text = Ask(source, query);
  ASSERT_TRUE(text.has_value()) << text.error().message;
  const Json history = Json::parse(*text);
  EXPECT_EQ(history.at("times").size(), 24U);
  const Json& line = history.at("classes").at(0);
  EXPECT_EQ(line.at("key"), "dws");
  EXPECT_EQ(line.at("parts").back().at("stockouts"), 1);
  EXPECT_EQ(history.at("shapes").at(0).at("key"), "1 nvidia.com/gpu of h100");
  EXPECT_EQ(history.at("prices").size(), 1U);
  EXPECT_EQ(history.at("prices").at(0).at("usdPerHour"), 2.5);
  query.names_all = false;
  query.namespaces = {"team-b"};
  const Json other = Json::parse(*Ask(source, query));
  EXPECT_TRUE(other.at("classes").empty());
  EXPECT_TRUE(other.at("prices").empty());
}

TEST_F(ReportSourceTest, ReportHasLinesOfTeamsUsersAndPools) {
  {
    auto file = ledger::LedgerFile::Open(path_, {});
    ASSERT_TRUE(file);
    ledger::AttemptRecord record = ledger::test::Admitted("a", 99'000, 99'100);
    record.user = "ann@example.com";
    ledger::NodeTimeRecord node{.id = "n",
                                .pool = "t4-pool",
                                .namespace_name = "team-a",
                                .workload = "job-a",
                                .workload_uid = "a",
                                .from = 99'100,
                                .until = 99'150,
                                .hourly_nano = 1'000'000'000};
    ASSERT_TRUE(file->Write({record, node}, 99'200));
  }
  ReportSource source(clock_, path_);
  EXPECT_EQ(Keys(Ask(source, {.by = "user"})), "ann@example.com ");
  EXPECT_EQ(Keys(Ask(source, {.by = "team"})), "vision ");
  const auto pools = Ask(source, {.by = "pool"});
  EXPECT_EQ(Keys(pools), "t4-pool ");
  EXPECT_GT(Json::parse(*pools).at("lines").at(0).at("costUsd").get<double>(), 0);
}

TEST_F(ReportSourceTest, ReportOverTimeHasThePartsOfVisibleLines) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_);
  readapi::ReportQuery query{
      .by = "namespace", .days = 1, .of = readapi::ReportQuery::Of::kOverTime};
  EXPECT_EQ(Keys(Ask(source, query)), "team-a team-b ");
  query.namespaces = {"team-b"};
  const auto text = Ask(source, query);
  EXPECT_EQ(Keys(text), "team-b ");
  const Json history = Json::parse(*text);
  EXPECT_EQ(history.at("times").size(), 24U);
  const Json& last = history.at("lines").at(0).at("parts").back();
  EXPECT_GT(last.at("usedHours").at("nvidia.com/gpu").get<double>(), 0);
  EXPECT_GT(last.at("waitedHours").get<double>(), 0);
  EXPECT_TRUE(history.at("others").empty());
}

TEST_F(ReportSourceTest, RefusesTooManyAttemptsAndAMissingLedger) {
  Write("a", "team-a");
  Write("b", "team-b");
  ReportSource source(clock_, path_, 1);
  const auto large = Ask(source, {});
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(large.error().message, HasSubstr("2 attempts, more than 1: ask for fewer days"));
  EXPECT_TRUE(Ask(source, {.namespaces = {"team-a"}}).has_value());
  ReportSource missing(clock_, folder_.File("none.db"));
  EXPECT_EQ(Ask(missing, {}).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::program
