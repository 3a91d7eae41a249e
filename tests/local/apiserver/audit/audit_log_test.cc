// Goal: the audit log keeps every event while the disk follows, and never holds up a request.
// Method: sinks that block and fail on command; files in a folder of the test.
#include "local/apiserver/audit/audit_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::local {
namespace {

// What has been written, beyond the life of the log.
struct Written {
  std::mutex mutex;
  std::string text;
  bool fails = false;
  std::promise<void> blocked;     // set by the first write
  std::shared_future<void> gate;  // every write waits for it, if there is one
  std::once_flag once;
};

class TestSink final : public AuditSink {
 public:
  explicit TestSink(std::shared_ptr<Written> written) : written_(std::move(written)) {}
  Status Write(std::string_view lines) override {
    std::call_once(written_->once, [this] { written_->blocked.set_value(); });
    if (written_->gate.valid()) written_->gate.wait();
    const std::lock_guard lock(written_->mutex);
    if (written_->fails) return Error{ErrorCode::kUnavailable, "the disk is full"};
    written_->text += lines;
    return OkStatus();
  }

 private:
  const std::shared_ptr<Written> written_;
};

TEST(AuditLogTest, StopWritesQueuedEvents) {
  const auto written = std::make_shared<Written>();
  AuditLog log(std::make_unique<TestSink>(written));
  for (int i = 0; i < 100; ++i) log.Add(std::to_string(i));
  log.Stop();
  EXPECT_EQ(std::count(written->text.begin(), written->text.end(), '\n'), 100);
  EXPECT_EQ(written->text.substr(0, 6), "0\n1\n2\n");
  EXPECT_EQ(log.lost(), 0U);
  log.Add("late");
  EXPECT_EQ(log.lost(), 1U);
}

TEST(AuditLogTest, SlowDiskLosesTheNewestEventsAndBlocksNoRequest) {
  const auto written = std::make_shared<Written>();
  std::promise<void> gate;
  written->gate = gate.get_future().share();
  AuditLog log(std::make_unique<TestSink>(written), {.events = 3, .bytes = 1000});
  log.Add("first");
  written->blocked.get_future().wait();
  for (int i = 0; i < 10; ++i) log.Add(std::to_string(i));
  EXPECT_EQ(log.lost(), 7U);
  gate.set_value();
  log.Stop();
  EXPECT_EQ(written->text, "first\n0\n1\n2\n");
}

TEST(AuditLogTest, QueuedBytesAreBounded) {
  const auto written = std::make_shared<Written>();
  std::promise<void> gate;
  written->gate = gate.get_future().share();
  AuditLog log(std::make_unique<TestSink>(written), {.events = 100, .bytes = 25});
  log.Add("first");
  written->blocked.get_future().wait();
  for (int i = 0; i < 3; ++i) log.Add(std::string(9, 'x'));
  EXPECT_EQ(log.lost(), 1U);
  gate.set_value();
}

TEST(AuditLogTest, AFullDiskLosesEventsUntilThereIsSpace) {
  const auto written = std::make_shared<Written>();
  written->fails = true;
  AuditLog log(std::make_unique<TestSink>(written));
  log.Add("lost");
  log.Stop();
  EXPECT_EQ(log.lost(), 1U);
  EXPECT_EQ(written->text, "");
}

// Its first write throws.
class FaultySink final : public AuditSink {
 public:
  explicit FaultySink(std::string& text) : text_(text) {}
  Status Write(std::string_view lines) override {
    if (!std::exchange(has_thrown_, true)) throw std::runtime_error("planted");
    text_ += lines;
    return OkStatus();
  }
  std::string& text_;
  bool has_thrown_ = false;
};

TEST(AuditLogTest, FailedWriteLosesOnlyItsEvents) {
  std::string text;
  AuditLog log(std::make_unique<FaultySink>(text));
  log.Add("lost");
  while (log.lost() == 0) std::this_thread::yield();
  log.Add("kept");
  log.Stop();
  EXPECT_EQ(text, "kept\n");
  EXPECT_EQ(log.lost(), 1U);
}

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(AuditFileTest, AFileIsRotatedBySizeAndPrivate) {
  const TempFolder folder;
  const std::string path = folder.path() + "/audit.log";
  auto sink = OpenAuditFile({.path = path, .max_bytes = 10, .kept = 2});
  ASSERT_TRUE(sink) << sink.error().message;
  for (const char* line :
       {"one\n", "two\n", "three\n", "four\n", "five-and-more-than-ten\n", "six\n"}) {
    ASSERT_TRUE((*sink)->Write(line));
  }
  EXPECT_EQ(ContentOf(path), "six\n");
  EXPECT_EQ(ContentOf(path + ".1"), "five-and-more-than-ten\n");
  EXPECT_EQ(ContentOf(path + ".2"), "four\n");
  EXPECT_FALSE(std::filesystem::exists(path + ".3"));
  struct stat known {};
  ASSERT_EQ(::stat(path.c_str(), &known), 0);
  EXPECT_EQ(known.st_mode & 0777U, 0600U);
}

TEST(AuditFileTest, ExistingFileIsAppendedToAndMadePrivate) {
  const TempFolder folder;
  const std::string path = folder.path() + "/audit.log";
  std::ofstream(path) << "old\n";
  std::filesystem::permissions(path, std::filesystem::perms::all);
  auto sink = OpenAuditFile({.path = path, .max_bytes = 100, .kept = 1});
  ASSERT_TRUE(sink);
  ASSERT_TRUE((*sink)->Write("new\n"));
  EXPECT_EQ(ContentOf(path), "old\nnew\n");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(AuditFileTest, RejectsAPathThatIsNoRegularFile) {
  const TempFolder folder;
  EXPECT_FALSE(OpenAuditFile({.path = folder.path()}));
  EXPECT_FALSE(OpenAuditFile({.path = folder.path() + "/none/audit.log"}));
  const std::string link = folder.path() + "/link";
  std::filesystem::create_symlink(folder.path() + "/elsewhere", link);
  const auto refused = OpenAuditFile({.path = link});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(link), std::string::npos);
}

}  // namespace
}  // namespace berth::local
