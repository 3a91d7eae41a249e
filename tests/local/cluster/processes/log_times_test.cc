// Goal: the times of a log's lines are those of their output, within the promised limits. Method:
// an index that the test writes at chosen times.
#include "local/cluster/processes/log_times.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/rfc3339.h"
#include "local/cluster/processes/log_stamps.h"
#include "local/cluster/processes/pod_processes.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class LogTimesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-times-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    log_ = folder_ + "/0.log";
  }
  void TearDown() override { fs::remove_all(folder_); }

  const WallTime start_ = *ParseTime("2026-11-20T07:03:22Z");
  std::string folder_;
  std::string log_;
};

TEST_F(LogTimesTest, FindsTimesAndOffsets) {
  {
    LogTimesWriter writer(log_);
    writer.Add(0, start_);
    writer.Add(100, start_ + milliseconds(200));
  }
  LogTimesWriter(log_).Add(300, start_ + milliseconds(900));  // a log that goes on
  LogTimes times(log_);
  ASSERT_TRUE(times.is_there());
  EXPECT_EQ(times.At(0), start_);
  EXPECT_EQ(times.At(99), start_);
  EXPECT_EQ(times.At(100), start_ + milliseconds(200));
  EXPECT_EQ(times.At(5000), start_ + milliseconds(900));
  EXPECT_EQ(times.At(50), start_) << "back again";
  EXPECT_EQ(times.OffsetAt(start_ - milliseconds(1)), 0);
  EXPECT_EQ(times.OffsetAt(start_), 0);
  EXPECT_EQ(times.OffsetAt(start_ + milliseconds(1)), 100);
  EXPECT_EQ(times.OffsetAt(start_ + milliseconds(900)), 300);
  EXPECT_EQ(times.OffsetAt(start_ + milliseconds(901)), std::nullopt);
}

TEST_F(LogTimesTest, SeesLaterRecordsAfterRenewal) {
  LogTimesWriter writer(log_);
  writer.Add(0, start_);
  LogTimes times(log_);
  EXPECT_EQ(times.At(50), start_);
  writer.Add(100, start_ + milliseconds(200));
  times.Renew();
  EXPECT_EQ(times.At(99), start_);
  EXPECT_EQ(times.At(100), start_ + milliseconds(200));
}

TEST_F(LogTimesTest, WritesFewRecordsForManyBytes) {
  LogTimesWriter writer(log_);
  for (int at = 0; at < 10'000; ++at) {
    writer.Add(at, start_ + std::chrono::microseconds(100 * at));  // a byte each 0.1 ms, for 1 s
  }
  EXPECT_LE(fs::file_size(LogTimesPath(log_)), 10'000U);
  writer.Add(20'000, start_ - std::chrono::hours(1));  // the clock is set back
  writer.Add(30'000, start_ + std::chrono::hours(1));
  LogTimes times(log_);
  EXPECT_GE(times.At(20'000), start_);
  EXPECT_EQ(times.At(30'000), start_ + std::chrono::hours(1));
}

TEST_F(LogTimesTest, ForgetsTheRecordsOfARemovedPart) {
  LogTimesWriter writer(log_);
  for (int at = 0; at < 2000; ++at) writer.Add(at * 100, start_ + milliseconds(at * 100));
  writer.Forget(150'000);
  LogTimes times(log_);
  EXPECT_EQ(times.At(150'000), start_ + milliseconds(150'000));
  EXPECT_EQ(times.OffsetAt(start_ + milliseconds(150'001)), 150'100);
  EXPECT_LE(times.OffsetAt(start_), 150'000) << "what is kept at most";
}

TEST_F(LogTimesTest, MissingTimesAreReported) {
  LogTimes times(log_);
  EXPECT_FALSE(times.is_there());
  EXPECT_EQ(times.OffsetAt(start_), std::nullopt);
}

TEST_F(LogTimesTest, StampsLinesAtTheirFirstByte) {
  LogStamps stamps([&](std::int64_t offset) { return start_ + milliseconds(offset); });
  EXPECT_EQ(stamps.Add("one\ntw", 0),
            "2026-11-20T07:03:22.000000000Z one\n2026-11-20T07:03:22.004000000Z tw");
  EXPECT_EQ(stamps.Add("o\n\n", 6), "o\n2026-11-20T07:03:22.008000000Z \n");
}

TEST(PodProcesses, ProcessesAreReadFromProc) {
  const ProcessEntry entry = ParseProcessEntry(
      "42 (a) b) S 7 42 40 0 -1 4194304 500 0 0 0 250 50 0 0 20 0 1 0 12345 1000000 300 0 0");
  EXPECT_EQ(entry.id, 42);
  EXPECT_EQ(entry.parent, 7);
  EXPECT_EQ(entry.session, 40);
  EXPECT_EQ(entry.processor_time, std::chrono::seconds(3));
  EXPECT_EQ(entry.resident_bytes, 300 * 4096);
  EXPECT_EQ(ParseProcessEntry("42 (cut").id, 0);
  const ProcessEntry absurd = ParseProcessEntry(
      "42 (a) S 7 42 40 0 -1 4194304 500 0 0 0 9223372036854775807 9223372036854775807 0 0 20 0 1 "
      "0 12345 1000000 9223372036854775807 0 0");
  EXPECT_GT(absurd.processor_time, std::chrono::hours(24 * 365));
  EXPECT_GT(absurd.resident_bytes, 0);
}

TEST(PodProcesses, ProcessesAreFoundByTheirLeader) {
  const std::vector<ProcessEntry> all{{12, 11, 10}, {10, 1, 10}, {11, 10, 11}, {13, 12, 13},
                                      {20, 1, 20},  {21, 1, 20}, {30, 1, 30}};
  const auto found = ProcessesOf({10, 20}, all);
  EXPECT_EQ(found.at(10).size(), 4U);
  EXPECT_EQ(found.at(20).size(), 2U);
}

TEST(PodProcesses, ListeningPortsAreFoundByAddress) {
  constexpr const char* kTable =
      "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout "
      "inode\n"
      "   0: 05004D7F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 111 1\n"
      "   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 222 1\n"
      "   2: 06004D7F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 333 1\n"
      "   3: 05004D7F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000  0  0 444 1\n"
      "   4: 05004D7F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 555 1\n";
  EXPECT_EQ(ListeningSockets(kTable, "127.77.0.5", 8080), (std::set<std::string>{"111", "222"}));
  EXPECT_TRUE(ListeningSockets("", "127.77.0.5", 8080).empty());
}

}  // namespace
}  // namespace berth::local::cluster
