// Goal: logs are read whole or from their end, and followed to their end.
// Method: files laid out as PodFolders does, written by the test.
#include "local/cluster/kubelet/pod_logs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <stdexcept>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/rfc3339.h"
#include "local/cluster/processes/log_times.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

class PodLogsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-logs-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    container_ = folder_ + "/pods/ns_p_u/c";
    request_.namespace_name = "ns";
    request_.pod = "p";
    request_.pod_uid = "u";
    request_.container = "c";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) {
    fs::create_directories(container_);
    std::ofstream(container_ + "/" + name, std::ios::app) << text;
  }
  std::string Read() {
    PodLogs logs(folder_);
    const auto text = logs.Read(request_);
    return text ? *text : text.error().reason + ": " + text.error().message;
  }

  std::string folder_;
  std::string container_;
  LogRequest request_;
};

TEST_F(PodLogsTest, ReadsWholeLogsTailsAndLimits) {
  Write("0.log", "one\ntwo\nthree\n");
  EXPECT_EQ(Read(), "one\ntwo\nthree\n");
  request_.tail_lines = 2;
  EXPECT_EQ(Read(), "two\nthree\n");
  request_.limit_bytes = 5;
  EXPECT_EQ(Read(), "two\nt");
  request_.limit_bytes = -1;
  request_.tail_lines = 0;
  EXPECT_EQ(Read(), "");
  request_.tail_lines = 99;
  EXPECT_EQ(Read(), "one\ntwo\nthree\n");
}

TEST_F(PodLogsTest, ReadsATailOverManyChunks) {
  std::string text;
  for (int line = 0; line < 50000; ++line) text += "line " + std::to_string(line) + "\n";
  Write("0.log", text);
  request_.tail_lines = 30000;
  EXPECT_EQ(Read(), text.substr(text.find("line 20000\n")));
}

// The oldest part of a log that has reached its limit is a hole (log_pump.h).
TEST_F(PodLogsTest, ReadsTheKeptPartOfALongLog) {
  constexpr off_t kHole = 64 * 4096;
  Write("0.log", std::string(kHole, 'x') + "one\ntwo\n");
  const int file = open((container_ + "/0.log").c_str(), O_WRONLY);
  ASSERT_EQ(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kHole), 0);
  close(file);
  EXPECT_EQ(Read(), "[berth: 262144 bytes before this are not kept]\none\ntwo\n");
  request_.tail_lines = 1;
  EXPECT_EQ(Read(), "two\n");
  request_.tail_lines = 99;
  EXPECT_EQ(Read(), "[berth: 262144 bytes before this are not kept]\none\ntwo\n");
  PodLogs logs(folder_);
  request_.tail_lines = -1;
  std::string text;
  std::promise<void> ended;
  const auto follow = logs.Follow(
      request_,
      [&](std::string_view more) {
        text += more;
        return true;
      },
      [&] { ended.set_value(); });
  ASSERT_TRUE(follow);
  ended.get_future().wait();
  EXPECT_EQ(text, "one\ntwo\n");
}

// The limit is of the answer's bytes: a stamp is 31 bytes, an empty line one.
TEST_F(PodLogsTest, TimestampsCountForTheLimitOfBytes) {
  constexpr std::size_t kMost = 64UL * 1024 * 1024;
  constexpr std::size_t kStamped = 32;
  constexpr std::size_t kLines = 3'000'000;
  Write("0.log", std::string(kLines - 1, '\n') + "end\n");
  LogTimesWriter(container_ + "/0.log").Add(0, *ParseTime("2026-11-20T07:03:22Z"));
  request_.timestamps = true;
  const std::string stamp = "2026-11-20T07:03:22.000000000Z ";
  const std::string whole = Read();
  constexpr std::size_t kShown = (kMost - 3) / kStamped;
  EXPECT_TRUE(whole.starts_with("[berth: " + std::to_string(kLines - kShown) +
                                " bytes before this are left out]\n" + stamp + "\n"))
      << whole.substr(0, 100);
  EXPECT_TRUE(whole.ends_with("\n" + stamp + "\n" + stamp + "end\n"));
  EXPECT_LT(whole.size(), kMost + 100);
  EXPECT_GT(whole.size(), kMost - 100);
  request_.limit_bytes = 40;
  EXPECT_EQ(Read(), stamp + "\n" + stamp.substr(0, 8));
  request_.tail_lines = 2;
  request_.limit_bytes = -1;
  EXPECT_EQ(Read(), stamp + "\n" + stamp + "end\n");
}

TEST_F(PodLogsTest, LineLongerThanAnAnswerIsCutAtItsFront) {
  constexpr std::size_t kMost = 64UL * 1024 * 1024;
  Write("0.log", "first\n" + std::string(kMost + 10, 'x'));
  const std::string plain = Read();
  EXPECT_TRUE(plain.starts_with("[berth: 16 bytes before this are left out]\nxxx"));
  LogTimesWriter(container_ + "/0.log").Add(0, *ParseTime("2026-11-20T07:03:22Z"));
  request_.timestamps = true;
  EXPECT_TRUE(Read().starts_with(
      "[berth: 47 bytes before this are left out]\n2026-11-20T07:03:22.000000000Z xxx"));
}

TEST_F(PodLogsTest, PreviousLogIsReadOnRequest) {
  Write("0.log", "old\n");
  Write("1.log", "new\n");
  EXPECT_EQ(Read(), "new\n");
  request_.previous = true;
  EXPECT_EQ(Read(), "old\n");
}

TEST_F(PodLogsTest, ImpossibleRequestsAreRefusedWithTheReason) {
  EXPECT_EQ(Read(),
            "BadRequest: container \"c\" in pod \"p\" is waiting to start: ContainerCreating");
  Write("0.log", "x\n");
  request_.previous = true;
  EXPECT_EQ(Read(), "BadRequest: previous terminated container \"c\" in pod \"p\" not found");
  request_.previous = false;
  request_.container = "../../etc";
  EXPECT_EQ(Read(), "BadRequest: invalid name: \"../../etc\"");
  request_.container = "c";
  request_.since_seconds = 5;
  EXPECT_EQ(
      Read(),
      "BadRequest: this log was written by a version of berth that kept no times: ask without "
      "--timestamps, --since and --since-time");
}

TEST_F(PodLogsTest, FollowsALogToItsEnd) {
  Write("0.log", "skipped\nfirst\n");
  Write("process", "1 1\n");
  PodLogs logs(folder_);
  request_.tail_lines = 1;
  std::string heard;
  std::promise<void> first;
  std::promise<void> end;
  auto follow = logs.Follow(
      request_,
      [&](std::string_view text) {
        if (heard.empty()) first.set_value();
        heard += text;
        return true;
      },
      [&] { end.set_value(); });
  ASSERT_TRUE(follow);
  first.get_future().wait();
  Write("0.log", "second\n");
  fs::remove(container_ + "/process");
  end.get_future().wait();
  EXPECT_EQ(heard, "first\nsecond\n");
}

TEST_F(PodLogsTest, FollowOfAFinishedPodEndsAtOnce) {
  Write("0.log", "all\n");
  PodLogs logs(folder_);
  std::string heard;
  std::promise<void> end;
  auto follow = logs.Follow(
      request_,
      [&](std::string_view text) {
        heard += text;
        return true;
      },
      [&] { end.set_value(); });
  ASSERT_TRUE(follow);
  end.get_future().wait();
  EXPECT_EQ(heard, "all\n");
}

TEST_F(PodLogsTest, ThrowingFollowerEndsAlone) {
  Write("0.log", "all\n");
  PodLogs logs(folder_);
  std::promise<void> faulty_end;
  std::promise<void> end;
  const auto throws = [](std::string_view) -> bool { throw std::runtime_error("planted"); };
  const auto faulty = logs.Follow(request_, throws, [&] { faulty_end.set_value(); });
  ASSERT_TRUE(faulty);
  faulty_end.get_future().wait();
  const auto other = logs.Follow(
      request_, [](std::string_view) { return true; }, [&] { end.set_value(); });
  ASSERT_TRUE(other);
  end.get_future().wait();
}

TEST_F(PodLogsTest, FollowerThatRefusesOutputIsDropped) {
  Write("0.log", "a\n");
  Write("process", "1 1\n");
  PodLogs logs(folder_);
  std::promise<void> called;
  auto follow = logs.Follow(
      request_,
      [&](std::string_view) {
        called.set_value();
        return false;
      },
      [] { FAIL() << "it did not end"; });
  ASSERT_TRUE(follow);
  called.get_future().wait();
}

}  // namespace
}  // namespace berth::local::cluster
