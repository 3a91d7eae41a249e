// Goal: records are written behind, none is lost at an orderly end, a crash loses what was not
// flushed and nothing else, and a full queue drops and counts.
// Method: a ledger whose batches wait an hour, so that only Flush, a full batch and the end write.
#include "ledger/ledger.h"

#include <atomic>
#include <filesystem>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system_clock.h"
#include "ledger/ledger_reader.h"
#include "tests/ledger/records.h"
#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::ledger {
namespace {

using test::Pending;
using ::testing::ElementsAre;

// Real time, whose reading throws on command.
class FaultyClock final : public Clock {
 public:
  WallTime Now() const override {
    if (throws) throw std::runtime_error("planted");
    return clock_.Now();
  }
  SteadyTime SteadyNow() const override { return clock_.SteadyNow(); }

  std::atomic<bool> throws = false;

 private:
  const SystemClock clock_{};
};

class LedgerTest : public ::testing::Test {
 protected:
  std::unique_ptr<Ledger> Open(std::size_t queue = 100'000) {
    auto ledger =
        Ledger::Open(clock_, {.path = path_, .queue = queue, .batch_every = std::chrono::hours(1)});
    EXPECT_TRUE(ledger) << ledger.error().message;
    return *std::move(ledger);
  }
  std::vector<std::string> Uids() {
    std::vector<std::string> uids;
    Result<LedgerReader> reader = LedgerReader::Open(path_);
    EXPECT_TRUE(reader) << reader.error().message;
    const auto attempts = reader->Attempts({});
    for (const AttemptRecord& attempt : *attempts) uids.push_back(attempt.uid);
    return uids;
  }

  local::TempFolder folder_;
  std::string path_ = folder_.File("ledger.db");
  FaultyClock clock_;
};

TEST_F(LedgerTest, DestructorWritesQueuedRecords) {
  {
    const auto ledger = Open();
    ledger->Append(Pending("a"));
    ledger->Append(Pending("b", 1001));
  }
  EXPECT_THAT(Uids(), ElementsAre("a", "b"));
}

TEST_F(LedgerTest, ACrashLosesOnlyWhatWasNotFlushed) {
  auto ledger = Open();
  ledger->Append(Pending("a"));
  ledger->Flush();
  ledger->Append(Pending("b", 1001));
  ledger->Abandon();
  EXPECT_EQ(ledger->stats().written, 1);
  EXPECT_THAT(Uids(), ElementsAre("a"));
  ledger = Open();
  ledger->Append(Pending("a"));  // seen again
  ledger->Append(Pending("b", 1001));
  ledger->Flush();
  EXPECT_EQ(ledger->stats().changed, 1);
  EXPECT_THAT(Uids(), ElementsAre("a", "b"));  // read while the ledger is open
}

TEST_F(LedgerTest, FullQueueDropsAndCountsRecords) {
  const auto ledger = Open(2);
  for (const char* uid : {"a", "b", "c", "d"}) ledger->Append(Pending(uid));
  ledger->Flush();
  EXPECT_EQ(ledger->stats().dropped, 2);
  EXPECT_EQ(ledger->stats().written, 2);
  ledger->Append(Pending("e"));
  ledger->Flush();
  EXPECT_THAT(Uids(), ElementsAre("a", "b", "e"));
}

TEST_F(LedgerTest, AFullBatchIsWrittenAtOnce) {
  const auto ledger = Open();
  for (int i = 0; i < 10'000; ++i) ledger->Append(Pending("w" + std::to_string(i)));
  ledger->Flush();
  EXPECT_EQ(ledger->stats().written, 10'000);
  EXPECT_EQ(Uids().size(), 10'000U);
}

TEST_F(LedgerTest, LagIsTheAgeOfTheOldestQueuedRecord) {
  const auto ledger = Open();
  EXPECT_EQ(ledger->stats().lag, Duration{});
  ledger->Append(Pending("a"));
  const SteadyTime begin = clock_.SteadyNow();
  while (clock_.SteadyNow() == begin) {
  }
  EXPECT_GT(ledger->stats().lag, Duration{});
  ledger->Flush();
  EXPECT_EQ(ledger->stats().lag, Duration{});
  EXPECT_GT(ledger->stats().bytes, 0);
}

TEST_F(LedgerTest, ABatchThatThrowsIsLostAndTheNextOneIsWritten) {
  const auto ledger = Open();
  clock_.throws = true;
  ledger->Append(Pending("a"));
  ledger->Flush();
  EXPECT_EQ(ledger->stats().dropped, 1);
  clock_.throws = false;
  ledger->Append(Pending("b"));
  ledger->Flush();
  EXPECT_EQ(ledger->stats().written, 1);
  EXPECT_THAT(Uids(), ElementsAre("b"));
}

TEST_F(LedgerTest, DamageFoundByAWriteReplacesTheFile) {
  const auto ledger = Open();
  ledger->Append(Pending("a"));
  ledger->Flush();
  // Another process breaks the table under the ledger.
  Result<Sqlite> sqlite = Sqlite::Open(path_);
  ASSERT_TRUE(sqlite);
  ASSERT_TRUE(sqlite->Execute("DROP TABLE attempt"));
  ledger->Append(Pending("b"));
  ledger->Flush();
  EXPECT_EQ(ledger->stats().dropped, 1);
  ledger->Append(Pending("c"));
  ledger->Flush();
  EXPECT_THAT(Uids(), ElementsAre("c"));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".damaged"));
}

}  // namespace
}  // namespace berth::ledger
