// Goal: the ledger has what the controllers did, once, also where the feed was away meanwhile; and
// the feed makes no request.
// Method: the admission controllers on the real API in virtual time, and a ledger on a real file.
#include "ledger/controller/ledger_feed.h"

#include <map>
#include <optional>

#include "ledger/ledger_reader.h"
#include "tests/admission/controller/admission_fixture.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::admission {
namespace {

using ledger::AttemptRecord;
using ::testing::ElementsAre;

class LedgerFeedTest : public AdmissionFixture {
 protected:
  LedgerFeedTest() { PutQueues(2); }
  ~LedgerFeedTest() override {
    manager_->Stop();
    feed_.reset();
  }

  void Feed(std::size_t queue = 10'000) {
    auto opened = ledger::Ledger::Open(
        clock_, {.path = path_, .queue = queue, .batch_every = std::chrono::hours(1)});
    ASSERT_TRUE(opened) << opened.error().message;
    ledger_ = *std::move(opened);
    feed_.emplace(*manager_, clock_, *ledger_,
                  ledger::LedgerFeedOptions{.metrics = &ledger_metrics_, .users = users_});
  }
  // The process ends; the objects stay.
  void Away() {
    Crash();
    feed_.reset();
    ledger_.reset();
  }
  void Again(std::size_t queue = 10'000) {
    Boot();
    Feed(queue);
  }
  // "name attempt outcome", in the order of queueing and names.
  std::vector<std::string> Rows() {
    executor_.RunFor(1s);
    ledger_->Flush();
    std::vector<std::string> rows;
    for (const AttemptRecord& row : Attempts()) {
      const char* state = row.admitted ? "admitted" : "waits";
      rows.push_back(row.name + " " + std::to_string(row.attempt) + " " +
                     (row.outcome.empty() ? state : row.outcome));
    }
    return rows;
  }
  std::vector<AttemptRecord> Attempts() {
    auto reader = ledger::LedgerReader::Open(path_);
    EXPECT_TRUE(reader);
    return *reader->Attempts({});
  }
  void PutPrice(const std::string& price) {
    api_.Put(std::string(kKueueRoot) + "resourceflavors",
             {{"metadata",
               {{"name", "default"}, {"annotations", {{"berth.dev/price-per-hour", price}}}}},
              {"spec", Json::object()}});
  }

  bool users_ = true;  // --ledger-users
  local::TempFolder folder_;
  std::string path_ = folder_.File("ledger.db");
  std::unique_ptr<ledger::Ledger> ledger_;
  kube::Metrics ledger_metrics_;
  std::optional<ledger::LedgerFeed> feed_;
};

TEST_F(LedgerFeedTest, PoolsAreSampledOnceAMinuteWhereNodesAreRead) {
  Feed();
  api_.Put("/api/v1/nodes",
           {{"metadata", {{"name", "n"}, {"labels", {{"karpenter.sh/nodepool", "spot"}}}}},
            {"status", {{"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}});
  executor_.RunFor(2min);
  manager_->InformerFor<api::Node>();
  executor_.RunFor(3min);
  ledger_->Flush();
  auto reader = ledger::LedgerReader::Open(path_);
  ASSERT_TRUE(reader);
  std::int64_t ready = 0;
  const auto samples = *reader->PoolSamples(0);
  for (const ledger::PoolSampleRecord& sample : samples) {
    EXPECT_EQ(sample.pool, "spot");
    EXPECT_EQ(sample.idle_seconds, 0) << "no controller reads pods";
    ready += sample.ready;
  }
  EXPECT_EQ(ready, 3 * ledger::kSampleSeconds);
}

TEST_F(LedgerFeedTest, AttemptHasThePriceAtAdmissionAndTheUser) {
  PutPrice("2.5");
  Feed();
  PutWorkload("one", 1);
  executor_.RunFor(2s);
  PutPrice("3");
  Json workload = *api_.Find(PathOf("one"));
  workload["metadata"]["annotations"]["berth.dev/user"] = "ann";
  api_.Put(std::string(kKueueRoot) + "namespaces/team/workloads", workload);
  (void)Rows();
  const auto attempts = Attempts();
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].hourly_nano, 2'500'000'000) << "the price at the admission";
  EXPECT_EQ(attempts[0].user, "ann");
  auto reader = ledger::LedgerReader::Open(path_);
  const auto prices = *reader->Prices();
  ASSERT_EQ(prices.size(), 2U);
  EXPECT_EQ(prices[0].hourly_nano, 2'500'000'000);
  EXPECT_EQ(prices[1].hourly_nano, 3'000'000'000);
}

// An annotation of the time with --ledger-users, or one that somebody else wrote, names nobody.
TEST_F(LedgerFeedTest, QuotaIsRecordedOnceAndWhenItChanges) {
  Feed();
  executor_.RunFor(5s);
  const auto quotas = [this] {
    ledger_->Flush();
    auto reader = ledger::LedgerReader::Open(path_);
    EXPECT_TRUE(reader);
    const auto known = *reader->Quotas("");
    std::vector<std::pair<std::string, api::Amount>> rows;
    for (const ledger::QuotaRecord& quota : known) {
      rows.emplace_back(quota.cluster_queue + " " + quota.resource, quota.nominal);
    }
    return rows;
  };
  const auto first = quotas();
  EXPECT_THAT(first, ElementsAre(std::pair("cq cpu", 2000)));
  PutQueues(3);
  executor_.RunFor(5s);
  const auto both = quotas();
  EXPECT_THAT(both, ElementsAre(std::pair("cq cpu", 2000), std::pair("cq cpu", 3000)));
  Away();
  PutQueues(4);
  Again();
  executor_.RunFor(5s);
  EXPECT_EQ(quotas().size(), 3U) << "a change during a downtime counts from the start on";
}

TEST_F(LedgerFeedTest, WithoutTheFlagNoUserIsRecorded) {
  users_ = false;
  Feed();
  PutWorkload("one", 1, {{"maximumExecutionTimeSeconds", 60}});
  Edit("one", [](Json& object) { object["metadata"]["annotations"]["berth.dev/user"] = "ann"; });
  executor_.RunFor(2s);
  (void)Rows();
  const auto attempts = Attempts();
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].user, "");
  EXPECT_EQ(attempts[0].declared, 60);
}

// What a Job declares, where Jobs are watched; the maximum of the Workload comes first.
TEST_F(LedgerFeedTest, DeclaredTimeIsThatOfTheWorkloadOrItsJob) {
  manager_->InformerFor<api::Job>();
  Feed();
  const Json container = {{"name", "c"}, {"image", "i"}};
  const Json pods = {{"restartPolicy", "Never"}, {"containers", {container}}};
  api_.Put("/apis/batch/v1/namespaces/team/jobs",
           {{"metadata", {{"name", "train"}}},
            {"spec", {{"activeDeadlineSeconds", 600}, {"template", {{"spec", pods}}}}}});
  executor_.RunFor(1s);
  PutWorkload("one", 1);
  Edit("one", [](Json& object) {
    object["metadata"]["ownerReferences"] = {{{"apiVersion", "batch/v1"},
                                              {"kind", "Job"},
                                              {"name", "train"},
                                              {"uid", "u"},
                                              {"controller", true}}};
  });
  PutWorkload("two", 1, {{"maximumExecutionTimeSeconds", 60}});
  executor_.RunFor(2s);
  (void)Rows();
  std::map<std::string, std::optional<std::int64_t>> declared;
  for (const AttemptRecord& row : Attempts()) declared[row.name] = row.declared;
  EXPECT_EQ(declared,
            (std::map<std::string, std::optional<std::int64_t>>{{"one", 600}, {"two", 60}}));
}

TEST_F(LedgerFeedTest, TheLedgerHasMetrics) {
  Feed();
  PutWorkload("one", 1);
  (void)Rows();
  executor_.RunFor(5s);
  const std::string text = ledger_metrics_.Text();
  for (const char* line :
       {"berth_ledger_records_total{result=\"written\"}",
        "berth_ledger_records_total{result=\"dropped\"} 0", "berth_ledger_queued_records 0",
        "berth_ledger_lag_seconds 0", "berth_ledger_bytes"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  }
  EXPECT_EQ(text.find("berth_ledger_bytes 0"), std::string::npos);
}

TEST_F(LedgerFeedTest, PreemptionEndsAnAttemptAndBeginsTheNext) {
  Feed();
  PutClusterQueue("cq", 2, {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  PutWorkload("low", 2);
  executor_.RunFor(10s);
  PutWorkload("high", 2, {{"priority", 100}});
  executor_.RunFor(5s);
  ASSERT_EQ(ReasonOf("low", api::kEvicted), "Preempted");
  Release("low");
  executor_.RunFor(5s);
  EXPECT_THAT(Rows(), ElementsAre("low 1 Preempted", "high 1 admitted", "low 2 waits"));
  const auto rows = Attempts();
  EXPECT_EQ(rows[0].preemptor, Get("high").meta.uid);
  EXPECT_EQ(rows[0].cluster_queue, "cq");
  EXPECT_THAT(rows[0].resources, ElementsAre(ledger::ResourceUse{"default", "cpu", 2000}));
  EXPECT_EQ(rows[2].waits.size(), 1U);
  Finish("high");
  executor_.RunFor(5s);
  EXPECT_THAT(Rows(), ElementsAre("low 1 Preempted", "high 1 Succeeded", "low 2 admitted"));
  api_.Remove(PathOf("low"));
  EXPECT_THAT(Rows(), ElementsAre("low 1 Preempted", "high 1 Succeeded", "low 2 Deleted"));
}

TEST_F(LedgerFeedTest, ChangesDuringADowntimeAreRecorded) {
  Feed();
  PutWorkload("one", 1);
  PutWorkload("two", 1);
  EXPECT_THAT(Rows(), ElementsAre("one 1 admitted", "two 1 admitted"));
  Away();
  clock_.Advance(1h);
  Finish("one");
  api_.Remove(PathOf("two"));
  Boot();
  PutWorkload("three", 1);
  executor_.RunFor(5s);
  Away();
  Again();
  EXPECT_THAT(Rows(), ElementsAre("one 1 Succeeded", "two 1 Deleted", "three 1 admitted"));
  EXPECT_EQ(*Attempts()[0].ended - *Attempts()[0].admitted, 3601);
  EXPECT_LT(*Attempts()[1].ended - *Attempts()[1].admitted, 60);  // when the ledger ended
}

TEST_F(LedgerFeedTest, RestartChangesNoRow) {
  Feed();
  for (const char* name : {"one", "two", "three"}) PutWorkload(name, 1);
  const auto rows = Rows();
  const auto attempts = Attempts();
  Away();
  Again();
  EXPECT_EQ(Rows(), rows);
  EXPECT_EQ(ledger_->stats().changed, 0);
  EXPECT_GE(ledger_->stats().written, 3);
  EXPECT_EQ(Attempts(), attempts);
}

TEST_F(LedgerFeedTest, LedgerMakesNoApiRequest) {
  PutWorkload("one", 1);
  executor_.RunFor(5s);
  Away();
  Boot();
  std::size_t before = api_.requests().size();
  executor_.RunFor(5s);
  const std::size_t without = api_.requests().size() - before;
  Away();
  Again();
  before = api_.requests().size();
  executor_.RunFor(5s);
  EXPECT_EQ(api_.requests().size() - before, without);
}

TEST_F(LedgerFeedTest, SweepWritesWhatAnOverflowDropped) {
  Feed(8);
  executor_.RunFor(1s);
  for (int i = 0; i < 20; ++i) PutWorkload("w" + std::to_string(i), 1);
  EXPECT_LT(Rows().size(), 20U);
  ASSERT_GT(ledger_->stats().overflows, 0);
  executor_.RunFor(30s);  // a sweep begins, and goes on as far as the queue has room
  for (int i = 0; i < 10; ++i) (void)Rows();
  EXPECT_EQ(Rows().size(), 20U);
}

}  // namespace
}  // namespace berth::admission
