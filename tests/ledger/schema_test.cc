// Goal: a file of every version of the schema is read as it is, migrated without a lost row, and
// written on; rows of nodes and prices are kept, merged and trimmed.
// Method: a file for each version in schemas/, made by its own SQL.
#include <fstream>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/ledger_file.h"
#include "ledger/ledger_reader.h"
#include "ledger/ledger_schema.h"
#include "tests/ledger/records.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::ledger {
namespace {

using test::Ended;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SchemaTest : public ::testing::Test {
 protected:
  LedgerFile Open(const Limits& limits = {.age = std::chrono::days(36'500)}) {
    Result<LedgerFile> file = LedgerFile::Open(path_, limits);
    EXPECT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->damage(), "");
    return *std::move(file);
  }
  LedgerReader Reader() {
    Result<LedgerReader> reader = LedgerReader::Open(path_);
    EXPECT_TRUE(reader) << reader.error().message;
    return *std::move(reader);
  }
  void MakeFileOf(std::int64_t version) {
    std::ifstream file(std::string(LEDGER_SCHEMAS) + "/version" + std::to_string(version) + ".sql");
    ASSERT_TRUE(file.good()) << "schemas/ has no file of version " << version;
    std::ostringstream sql;
    sql << file.rdbuf();
    Result<Sqlite> sqlite = Sqlite::Open(path_);
    ASSERT_TRUE(sqlite);
    const Status made = sqlite->Execute(sql.str().c_str());
    ASSERT_TRUE(made) << made.error().message;
    ASSERT_EQ(*sqlite->QueryInt("PRAGMA user_version"), version);
  }

  local::TempFolder folder_;
  std::string path_ = folder_.File("ledger.db");
};

NodeTimeRecord NodeOf(const std::string& uid, Seconds from, Seconds until, bool stands) {
  return {.id = "meter-" + uid,
          .node = "n-" + uid,
          .pool = "h100",
          .class_name = "queued",
          .namespace_name = "team-a",
          .local_queue = "main",
          .cluster_queue = "gpus",
          .workload = "job-" + uid,
          .workload_uid = uid,
          .from = from,
          .until = until,
          .gpus = 8,
          .hourly_nano = 36'000'000'000,
          .stands = stands};
}

TEST_F(SchemaTest, EveryEarlierVersionIsReadMigratedAndWritten) {
  for (std::int64_t version = 1; version < kSchemaVersion; ++version) {
    SCOPED_TRACE(version);
    path_ = folder_.File("version" + std::to_string(version) + ".db");
    MakeFileOf(version);
    LedgerReader before = Reader();
    const auto attempts = before.Attempts({});
    ASSERT_TRUE(attempts) << attempts.error().message;
    ASSERT_EQ(attempts->size(), 3U);
    EXPECT_EQ((*attempts)[0].outcome, kPreempted);
    EXPECT_THAT((*attempts)[0].waits, ElementsAre(Wait{1000, "WaitingForQuota"}));
    const auto requests = *before.Requests({});
    EXPECT_EQ(requests.size(), 1U);
    EXPECT_THAT(*before.NodeTimes({}), IsEmpty());
    EXPECT_THAT(*before.Prices(), IsEmpty());
    EXPECT_THAT(*before.Quotas(""), IsEmpty());

    LedgerFile file = Open();
    LedgerReader after = Reader();
    EXPECT_EQ(*after.Attempts({}), *attempts);
    EXPECT_EQ(*after.Requests({}), requests);
    // What the objects still say is no news, and the waiting job goes on in its row.
    AttemptRecord admitted = test::Admitted("c", 1010, 5000);
    admitted.hourly_nano = 7;
    admitted.user = "ann";
    admitted.image = "train:3,";
    admitted.declared = 3600;
    admitted.checkpoint = 600;
    const NodeTimeRecord node = NodeOf("c", 5000, 5060, true);
    const auto count = file.Write({Ended(test::Admitted("a", 4660, 4670, 2), 4690, kSucceeded),
                                   admitted, node, PriceRecord{"h100", 5000, 36'000'000'000}},
                                  5060);
    ASSERT_TRUE(count) << count.error().message;
    const auto rows = *after.Attempts({});
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[1].admitted, 5000);
    EXPECT_EQ(rows[1].hourly_nano, 7);
    EXPECT_EQ(rows[1].user, "ann");
    EXPECT_EQ(rows[1].image, "train:3,");
    EXPECT_EQ(rows[1].declared, 3600);
    EXPECT_EQ(rows[1].checkpoint, 600);
    EXPECT_THAT(*after.NodeTimes({}), ElementsAre(node));
  }
}

TEST_F(SchemaTest, AMigratedFileHasTheTablesOfANewOne) {
  const auto tables_of = [this] {
    (void)Open();
    Result<Sqlite> sqlite = Sqlite::OpenForReading(path_);
    return *sqlite->QueryText(
        "SELECT group_concat(name || ':' || (SELECT group_concat(name) FROM "
        "pragma_table_info(m.name))) FROM (SELECT name FROM sqlite_master ORDER BY name) AS m");
  };
  const std::string fresh = tables_of();
  for (std::int64_t version = 1; version < kSchemaVersion; ++version) {
    path_ = folder_.File("version" + std::to_string(version) + ".db");
    MakeFileOf(version);
    EXPECT_EQ(tables_of(), fresh) << version;
  }
}

TEST_F(SchemaTest, NodeTimeOnlyGrows) {
  LedgerFile file = Open();
  ASSERT_TRUE(file.Write({NodeOf("a", 1000, 1000, true)}, 1000));
  NodeTimeRecord later = NodeOf("a", 1000, 1600, false);
  later.pool = later.workload_uid = "";  // the node and the Workload are gone
  later.gpus = 0;
  ASSERT_TRUE(file.Write({later}, 1600));
  EXPECT_EQ(file.Write({NodeOf("a", 1000, 1300, true)}, 1700)->unchanged, 1);  // arrives late
  LedgerReader reader = Reader();
  EXPECT_THAT(*reader.NodeTimes({}), ElementsAre(NodeOf("a", 1000, 1600, false)));
  EXPECT_THAT(*reader.NodeTimes({.since = 1601}), IsEmpty());
  EXPECT_THAT(*reader.NodeTimes({.namespaces = {"team-b"}}), IsEmpty());
}

TEST_F(SchemaTest, PriceIsWrittenOnlyWhenItChanges) {
  LedgerFile file = Open();
  const PriceRecord first{"h100", 1000, 5};
  const PriceRecord gone{"h100", 3000, std::nullopt};
  const auto count = file.Write({PriceRecord{"none", 900, std::nullopt}, first,
                                 PriceRecord{"h100", 2000, 5}, gone, PriceRecord{"h100", 4000, {}}},
                                4000);
  EXPECT_EQ(count->changed, 2);
  EXPECT_THAT(*Reader().Prices(), ElementsAre(first, gone));
}

TEST_F(SchemaTest, QuotaIsWrittenOnlyWhenItChanges) {
  LedgerFile file = Open();
  const QuotaRecord first{"gpus", "cpu", 1000, 5};
  const QuotaRecord gone{"gpus", "cpu", 3000, 0};
  const QuotaRecord other{"more", "cpu", 1000, 7};
  const auto count =
      file.Write({QuotaRecord{"none", "cpu", 900, 0}, first, other,
                  QuotaRecord{"gpus", "cpu", 2000, 5}, gone, QuotaRecord{"gpus", "cpu", 4000, 0}},
                 4000);
  EXPECT_EQ(count->changed, 3);
  EXPECT_THAT(*Reader().Quotas(""), ElementsAre(first, gone, other));
  EXPECT_THAT(*Reader().Quotas("more"), ElementsAre(other));
}

TEST_F(SchemaTest, TrimDeletesReplacedQuotas) {
  LedgerFile file = Open({.age = std::chrono::days(2)});
  const QuotaRecord last{"gpus", "cpu", 1200, 6};
  const QuotaRecord other{"gpus", "memory", 900, 7};
  ASSERT_TRUE(file.Write({QuotaRecord{"gpus", "cpu", 1000, 5}, last, other}, 1300));
  constexpr Seconds kDay = 86'400;
  ASSERT_TRUE(file.Trim(1201 + 2 * kDay));
  EXPECT_THAT(*Reader().Quotas("gpus"), ElementsAre(last, other));
}

TEST_F(SchemaTest, TrimDeletesOldNodesAndReplacedPrices) {
  constexpr Seconds kDay = 86'400;
  LedgerFile file = Open({.age = std::chrono::days(2)});
  ASSERT_TRUE(file.Write({NodeOf("old", 1000, 1600, false), NodeOf("new", 1000, kDay, true),
                          PriceRecord{"h100", 1000, 5}, PriceRecord{"h100", 1200, 6}},
                         kDay));
  ASSERT_TRUE(file.Trim(1601 + 2 * kDay));
  EXPECT_THAT(*Reader().NodeTimes({}), ElementsAre(NodeOf("new", 1000, kDay, true)));
  EXPECT_THAT(*Reader().Prices(), ElementsAre(PriceRecord{"h100", 1200, 6}));
  EXPECT_EQ(file.Write({NodeOf("old", 1000, 1600, false)}, 1601 + 2 * kDay)->unchanged, 1);
}

PoolSampleRecord SampleOf(const std::string& pool, Seconds from, std::int64_t ready) {
  return {.pool = pool,
          .from = from,
          .span = kSampleSeconds,
          .seconds = kSampleSeconds,
          .ready = ready * kSampleSeconds,
          .booting = kSampleSeconds,
          .idle = 0,
          .idle_seconds = kSampleSeconds};
}

TEST_F(SchemaTest, SamplesOfAMinuteAreAdded) {
  LedgerFile file = Open();
  ASSERT_TRUE(
      file.Write({SampleOf("a", 601, 2), SampleOf("a", 659, 4), SampleOf("b", 660, 1)}, 700));
  PoolSampleRecord both = SampleOf("a", 600, 6);
  both.seconds = both.booting = both.idle_seconds = 2 * kSampleSeconds;
  EXPECT_THAT(*Reader().PoolSamples(0), ElementsAre(both, SampleOf("b", 660, 1)));
  EXPECT_THAT(*Reader().PoolSamples(660), ElementsAre(SampleOf("b", 660, 1)));
}

// A pool with one node more each day: the sums stay, the rows become few.
TEST_F(SchemaTest, SamplesAreThinnedAsTheyAge) {
  constexpr Seconds kDay = 24 * kHour;
  constexpr Seconds kDays = 20;
  LedgerFile file = Open({.age = std::chrono::days(18)});
  for (Seconds day = 0; day < kDays; ++day) {
    std::vector<Record> records;
    for (Seconds at = 0; at < kDay; at += kSampleSeconds) {
      records.emplace_back(SampleOf("a", day * kDay + at, day + 1));
    }
    ASSERT_TRUE(file.Write(records, (day + 1) * kDay));
    ASSERT_TRUE(file.Trim((day + 1) * kDay));
  }
  std::map<Seconds, std::int64_t> rows;
  std::map<Seconds, std::int64_t> node_seconds;  // by day
  const auto samples = *Reader().PoolSamples(0);
  for (const PoolSampleRecord& sample : samples) {
    ++rows[sample.span];
    node_seconds[sample.from / kDay] += sample.ready;
  }
  const std::map<Seconds, std::int64_t> few{
      {kSampleSeconds, kDay / kSampleSeconds}, {kHour / 4, 13 * 24 * 4}, {kHour, 4 * 24}};
  EXPECT_EQ(rows, few);
  EXPECT_EQ(node_seconds.size(), 18U);
  for (const auto& [day, sum] : node_seconds) EXPECT_EQ(sum, (day + 1) * kDay) << day;
}

TEST_F(SchemaTest, NodesAreBoundedBySize) {
  constexpr std::int64_t kBytes = 128 * 1024;
  LedgerFile file = Open({.age = std::chrono::days(36'500), .bytes = kBytes});
  std::vector<Record> records;
  for (Seconds i = 0; i < 3000; ++i) {
    records.emplace_back(NodeOf("w" + std::to_string(i), 1000, 2000 + i, false));
  }
  ASSERT_TRUE(file.Write(records, 5000));
  ASSERT_TRUE(file.Trim(5000));
  EXPECT_LE(*file.BytesInUse(), kBytes);
  const auto left = *Reader().NodeTimes({});
  EXPECT_GT(left.size(), 100U);
  for (const NodeTimeRecord& node : left) EXPECT_GT(node.until, 2500) << "the newest stay";
}

}  // namespace
}  // namespace berth::ledger
