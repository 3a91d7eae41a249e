// Goal: the file has what was written, once, whatever arrives twice, late, or in parts; it is
// private, stays within its limits, refuses what it does not know, and sets damage aside.
// Method: real SQLite files in a folder of the test; rows are read by LedgerReader.
#include "ledger/ledger_file.h"

#include <filesystem>
#include <fstream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "ledger/ledger_reader.h"
#include "tests/ledger/records.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::ledger {
namespace {

using test::Admitted;
using test::Ended;
using test::Pending;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class LedgerFileTest : public ::testing::Test {
 protected:
  LedgerFile Open(const Limits& limits = {}) {
    Result<LedgerFile> file = LedgerFile::Open(path_, limits);
    EXPECT_TRUE(file) << file.error().message;
    return *std::move(file);
  }
  WriteCount Write(LedgerFile& file, const std::vector<Record>& records, Seconds now = 5000) {
    const Result<WriteCount> count = file.Write(records, now);
    EXPECT_TRUE(count) << count.error().message;
    return count ? *count : WriteCount{};
  }
  std::vector<AttemptRecord> Read(const HistoryFilter& filter = {}) {
    Result<LedgerReader> reader = LedgerReader::Open(path_);
    EXPECT_TRUE(reader) << reader.error().message;
    std::vector<AttemptRecord> attempts = *reader->Attempts(filter);
    const Result<std::int64_t> count = reader->CountAttempts(filter);
    EXPECT_TRUE(count && *count == static_cast<std::int64_t>(attempts.size()));
    std::vector<AttemptRecord> streamed;
    EXPECT_TRUE(reader->EachAttempt(filter, [&streamed](const AttemptRecord& attempt) {
      EXPECT_TRUE(streamed.empty() || std::pair(streamed.back().uid, streamed.back().attempt) <
                                          std::pair(attempt.uid, attempt.attempt));
      streamed.push_back(attempt);
    }));
    EXPECT_THAT(streamed, testing::UnorderedElementsAreArray(attempts));
    return attempts;
  }
  std::vector<std::string> Names(const HistoryFilter& filter) {
    std::vector<std::string> names;
    for (const AttemptRecord& attempt : Read(filter)) names.push_back(attempt.uid);
    return names;
  }
  void Execute(const char* sql) {
    Result<Sqlite> sqlite = Sqlite::Open(path_);
    ASSERT_TRUE(sqlite);
    ASSERT_TRUE(sqlite->Execute(sql));
  }

  local::TempFolder folder_;
  std::string path_ = folder_.File("ledger.db");
};

TEST_F(LedgerFileTest, RecordsOfOneAttemptBecomeOneRow) {
  LedgerFile file = Open();
  AttemptRecord last = Ended(Admitted("a", 1000, 1100), 1500, kSucceeded, "Succeeded");
  last.started = 1110;
  AttemptRecord other_cause = Pending("a");
  other_cause.waits = {{1050, "WaitingForPreemptedWorkloads"}};
  EXPECT_EQ(Write(file, {Pending("a"), other_cause, Admitted("a", 1000, 1100), last}).changed, 4);
  last.waits = {{1000, "WaitingForQuota"}, {1050, "WaitingForPreemptedWorkloads"}};
  EXPECT_THAT(Read(), ElementsAre(last));
}

TEST_F(LedgerFileTest, RepeatedRecordsChangeNothing) {
  const AttemptRecord ended = Ended(Admitted("a", 1000, 1100), 1500, kFailed, "Failed");
  const std::vector<Record> records{Pending("a"), Admitted("a", 1000, 1100), ended, Pending("b")};
  {
    LedgerFile file = Open();
    Write(file, records);
  }
  const auto rows = Read();
  LedgerFile file = Open();
  const WriteCount again = Write(file, {ended, Pending("b")});
  EXPECT_EQ(again.changed, 0);
  EXPECT_EQ(again.unchanged, 2);
  EXPECT_EQ(Read(), rows);
}

// What was seen earlier is kept, where the object does not state it any more.
TEST_F(LedgerFileTest, AnEvictedWorkloadKeepsItsReservationInTheRow) {
  LedgerFile file = Open();
  Write(file, {Admitted("a", 1000, 1100)});
  AttemptRecord released = Ended(Pending("a"), 1400, kPreempted, "InClusterQueue");
  released.preemptor = "b";
  released.resources.clear();
  released.waits.clear();
  Write(file, {released, Pending("a", 1400, 2)});
  const auto rows = Read();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].reserved, 1100);
  EXPECT_EQ(rows[0].cluster_queue, "gpus");
  EXPECT_EQ(rows[0].resources, Admitted("a", 1000, 1100).resources);
  EXPECT_EQ(rows[0].ended, 1400);
  EXPECT_EQ(rows[0].preemptor, "b");
  EXPECT_EQ(rows[1].attempt, 2);
  EXPECT_EQ(rows[1].outcome, "");
}

TEST_F(LedgerFileTest, FirstOutcomeOfAnAttemptStays) {
  LedgerFile file = Open();
  const AttemptRecord first = Ended(Admitted("a", 1000, 1100), 1400, kPreempted);
  Write(file, {first, Ended(Admitted("a", 1000, 1100), 1500, kSucceeded)});
  EXPECT_THAT(Read(), ElementsAre(first));
}

TEST_F(LedgerFileTest, FirstWaitBeginsWithTheQueueing) {
  LedgerFile file = Open();
  AttemptRecord seen_late = Pending("a", 1000);
  seen_late.waits = {{1030, "WaitingForQuota"}};
  Write(file, {seen_late});
  EXPECT_THAT(Read()[0].waits, ElementsAre(Wait{1000, "WaitingForQuota"}));
}

TEST_F(LedgerFileTest, WaitsOfOneAttemptAreBounded) {
  LedgerFile file = Open();
  std::vector<Record> records;
  for (Seconds i = 0; i < 2 * kMaxWaits; ++i) {
    AttemptRecord record = Pending("a");
    record.waits = {{1000 + i, i % 2 == 0 ? "One" : "Other"}};
    records.emplace_back(record);
  }
  Write(file, records);
  EXPECT_EQ(Read()[0].waits.size(), static_cast<std::size_t>(kMaxWaits));
}

TEST_F(LedgerFileTest, ASecondEvictionOfOneReservationIsNoAttempt) {
  LedgerFile file = Open();
  const AttemptRecord first = Ended(Admitted("a", 1000, 1100), 1400, kPreempted);
  AttemptRecord second = first;
  second.attempt = 2;
  second.outcome = kEvicted;
  Write(file, {first, second});
  EXPECT_THAT(Read(), ElementsAre(first));
}

TEST_F(LedgerFileTest, MissingWorkloadsEndAsDeleted) {
  LedgerFile file = Open();
  Write(file, {Pending("a"), Admitted("b", 1000, 1100), Pending("c")}, 2000);
  Write(file, {DeletedRecord{"a", 2500}}, 2600);
  Write(file, {PresentWorkloads{{"c", "unknown"}}}, 9000);
  const auto rows = Read();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].outcome, kDeleted);
  EXPECT_EQ(rows[0].ended, 2500);
  EXPECT_EQ(rows[1].outcome, kDeleted);
  EXPECT_EQ(rows[1].ended, 2600);  // when the ledger was last written
  EXPECT_EQ(rows[2].outcome, "");
}

TEST_F(LedgerFileTest, MissingRequestsForCapacityEndAsDeleted) {
  LedgerFile file = Open();
  CapacityRecord waiting{.uid = "r", .namespace_name = "team-a", .name = "r", .created = 1000};
  CapacityRecord gone = waiting;
  gone.uid = "s";
  CapacityRecord ended = waiting;
  ended.uid = "t";
  ended.ended = 1500;
  ended.outcome = kFailed;
  Write(file, {waiting, gone, ended}, 2000);
  Write(file, {PresentRequests{{"r", "unknown"}}}, 9000);
  gone.ended = 2000;  // when the ledger was last written
  gone.outcome = kDeleted;
  Result<LedgerReader> reader = LedgerReader::Open(path_);
  ASSERT_TRUE(reader);
  EXPECT_THAT(*reader->Requests({}), ::testing::UnorderedElementsAre(waiting, gone, ended));
}

TEST_F(LedgerFileTest, RecordsOfARequestForCapacityBecomeOneRow) {
  LedgerFile file = Open();
  CapacityRecord request{.uid = "r",
                         .namespace_name = "team-a",
                         .name = "job-a-check-1",
                         .class_name = "queued-provisioning.gke.io",
                         .workload = "job-a",
                         .created = 1000};
  CapacityRecord provisioned = request;
  provisioned.provisioned = 1300;
  CapacityRecord revoked = provisioned;
  revoked.ended = 1900;
  revoked.outcome = "CapacityRevoked";
  EXPECT_EQ(Write(file, {request, provisioned, revoked, request, revoked}).changed, 3);
  Result<LedgerReader> reader = LedgerReader::Open(path_);
  ASSERT_TRUE(reader);
  EXPECT_THAT(*reader->Requests({}), ElementsAre(revoked));
  EXPECT_THAT(*reader->Requests({.since = 1950}), ElementsAre());
}

TEST_F(LedgerFileTest, FiltersSelectByTimeNamespaceOwnerAndQueue) {
  LedgerFile file = Open();
  AttemptRecord other = Pending("c", 1002);
  other.namespace_name = "team-b";
  other.owner_kind = "JobSet";
  Write(file, {Ended(Admitted("a", 1000, 1100), 1500, kSucceeded), Pending("b", 1001), other});
  EXPECT_THAT(Names({}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names({.since = 1501}), ElementsAre("b", "c"));
  EXPECT_THAT(Names({.namespaces = {"team-b"}}), ElementsAre("c"));
  EXPECT_THAT(Names({.namespaces = {"team-a", "team-b", "\"]"}}), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Names({.namespaces = {"none", "\"] or"}}), ElementsAre());
  EXPECT_THAT(Names({.owner_kind = "job"}), ElementsAre("a", "b"));
  EXPECT_THAT(Names({.owner_kind = "JobSet", .name = "c"}), ElementsAre("c"));
  EXPECT_THAT(Names({.owner_kind = "workload", .name = "job-b"}), ElementsAre("b"));
  EXPECT_THAT(Names({.owner_kind = "workload", .name = "b"}), ElementsAre());
  EXPECT_THAT(Names({.name = "job-b"}), ElementsAre("b"));
  EXPECT_THAT(Names({.queue = "gpus"}), ElementsAre("a"));
  EXPECT_THAT(Names({.queue = "main"}), ElementsAre("a", "b", "c"));
}

TEST_F(LedgerFileTest, TrimDeletesOldEndedRowsForGood) {
  constexpr Seconds kDay = 86'400;
  LedgerFile file = Open({.age = std::chrono::days(2)});
  Write(file, {Ended(Admitted("old", 1000, 1100), 1500, kSucceeded), Pending("open"),
               Ended(Admitted("new", 1001, 1100), 1500 + kDay, kSucceeded)});
  ASSERT_TRUE(file.Trim(1501 + 2 * kDay));
  EXPECT_THAT(Names({}), ElementsAre("open", "new"));
  Result<Sqlite> sqlite = Sqlite::OpenForReading(path_);
  ASSERT_TRUE(sqlite);
  EXPECT_EQ(*sqlite->QueryInt("SELECT count(*) FROM resource WHERE uid='old'"), 0);
  // A restart tells them again while the objects exist.
  const WriteCount again =
      Write(file, {Ended(Admitted("old", 1000, 1100), 1500, kSucceeded)}, 1501 + 2 * kDay);
  EXPECT_EQ(again.changed, 0);
  EXPECT_THAT(Names({}), ElementsAre("open", "new"));
}

TEST_F(LedgerFileTest, TrimDeletesTheOldestEndedRowsAboveTheSize) {
  constexpr std::int64_t kBytes = 512 * 1024;
  LedgerFile file = Open({.bytes = kBytes});
  std::vector<Record> records{Pending("open")};
  for (Seconds i = 0; i < 5000; ++i) {
    records.emplace_back(Ended(Admitted("w" + std::to_string(i), 1000, 1100), 2000 + i, kFailed));
  }
  Write(file, records);
  ASSERT_TRUE(file.Trim(9000));
  ASSERT_TRUE(file.Close());
  EXPECT_LE(std::filesystem::file_size(path_), static_cast<std::uintmax_t>(kBytes));
  const auto left = Names({});
  EXPECT_GT(left.size(), 100U);
  EXPECT_THAT(left, ::testing::Contains("open"));
  EXPECT_THAT(left, ::testing::Contains("w4999"));  // the newest
  EXPECT_THAT(left, ::testing::Not(::testing::Contains("w0")));
}

TEST_F(LedgerFileTest, OpenRowsBeyondTheSizeAreRefused) {
  LedgerFile file = Open({.bytes = 64 * 1024});
  std::vector<Record> records;
  for (int i = 0; i < 500; ++i) records.emplace_back(Pending("w" + std::to_string(i)));
  Write(file, records);
  ASSERT_TRUE(file.Trim(9000));
  const WriteCount count = Write(file, {Pending("new"), Admitted("w1", 1000, 1100)});
  EXPECT_EQ(count.refused, 1);
  EXPECT_EQ(count.changed, 1);
}

TEST_F(LedgerFileTest, FilesAreReadableByTheirOwnerAlone) {
  LedgerFile file = Open();
  Write(file, {Pending("a")});
  for (const char* part : {"", "-wal", "-shm"}) {
    struct stat info {};
    ASSERT_EQ(::stat((path_ + part).c_str(), &info), 0) << part;
    EXPECT_EQ(info.st_mode & 0777U, 0600U) << part;
  }
}

TEST_F(LedgerFileTest, ANewerSchemaIsRefusedAndKept) {
  { (void)Open(); }
  const std::string newer = std::to_string(kSchemaVersion + 1);
  Execute(("PRAGMA user_version=" + newer).c_str());
  const auto file = LedgerFile::Open(path_, {});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kForbidden);
  EXPECT_THAT(file.error().message, HasSubstr("schema version " + newer));
  EXPECT_THAT(file.error().message, HasSubstr("use a newer berth"));
  const auto reader = LedgerReader::Open(path_);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("schema version " + newer));
  Execute(("PRAGMA user_version=" + std::to_string(kSchemaVersion)).c_str());
  EXPECT_TRUE(LedgerFile::Open(path_, {}));
}

TEST_F(LedgerFileTest, ForeignDatabasesAreRefusedAndKept) {
  Execute("CREATE TABLE mine(x)");
  const auto file = LedgerFile::Open(path_, {});
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("another program"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".damaged"));
  Execute("INSERT INTO mine VALUES(1)");
}

TEST_F(LedgerFileTest, DamagedFileIsRenamedAndReplaced) {
  std::ofstream(path_) << std::string(9000, 'x');
  LedgerFile file = Open();
  EXPECT_THAT(file.damage(), HasSubstr(path_ + ".damaged"));
  EXPECT_EQ(std::filesystem::file_size(path_ + ".damaged"), 9000U);
  Write(file, {Pending("a")});
  EXPECT_THAT(Names({}), ElementsAre("a"));
}

TEST_F(LedgerFileTest, DamageInsideTheFileIsFound) {
  {
    LedgerFile file = Open();
    std::vector<Record> records;
    for (int i = 0; i < 500; ++i) records.emplace_back(Pending("w" + std::to_string(i)));
    Write(file, records);
    ASSERT_TRUE(file.Close());
  }
  {
    std::fstream raw(path_, std::ios::in | std::ios::out | std::ios::binary);
    raw.seekp(3 * 4096);
    raw << std::string(20'000, '\xee');
  }
  EXPECT_NE(Open().damage(), "");
  EXPECT_THAT(Names({}), ElementsAre());
}

TEST_F(LedgerFileTest, AMissingFolderIsAnError) {
  const auto file = LedgerFile::Open(folder_.File("missing/ledger.db"), {});
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("missing/ledger.db"));
  const auto reader = LedgerReader::Open(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::ledger
