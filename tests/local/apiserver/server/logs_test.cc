// Goal: …/log returns and follows the text of the log source, and ends with the source.
#include <mutex>

#include <gmock/gmock.h>

#include "local/apiserver/schema/field_error.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

constexpr const char* kLog = "/api/v1/namespaces/default/pods/p/log";

class FakeLogs final : public LogSource {
 public:
  class Following final : public LogFollow {
   public:
    explicit Following(FakeLogs& logs) : logs_(logs) {}
    ~Following() override {
      const std::lock_guard lock(logs_.mutex_);
      logs_.on_text_ = nullptr;
    }

   private:
    FakeLogs& logs_;
  };

  ApiResult<std::string> Read(const LogRequest& request) override {
    if (!started_) {
      return BadRequest("container \"" + request.container + "\" in pod \"" + request.pod +
                        "\" is waiting to start: ContainerCreating");
    }
    last_ = request;
    return std::string("one\ntwo\n");
  }

  ApiResult<std::unique_ptr<LogFollow>> Follow(const LogRequest& request,
                                               std::function<bool(std::string_view)> on_text,
                                               std::function<void()> on_end) override {
    last_ = request;
    on_text("early\n");
    const std::lock_guard lock(mutex_);
    on_text_ = std::move(on_text);
    on_end_ = std::move(on_end);
    return std::unique_ptr<LogFollow>(std::make_unique<Following>(*this));
  }

  void Say(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (on_text_) on_text_(text);
  }
  void End() { on_end_(); }

  bool started_ = false;
  LogRequest last_;

 private:
  std::mutex mutex_;
  std::function<bool(std::string_view)> on_text_;
  std::function<void()> on_end_;
};

class LogsTest : public ServerTest {
 protected:
  void SetUp() override {
    ApiServerOptions options;
    options.logs = &logs_;
    StartServer(options);
    ASSERT_EQ(Post("/api/v1/namespaces/default/pods", PodJson("p")).status, 201);
  }
  void TearDown() override { ServerTest::TearDown(); }

  FakeLogs logs_;
};

TEST_F(LogsTest, LogOfAStartedContainerIsReturned) {
  const Answer early = Get(kLog);
  EXPECT_EQ(early.status, 400);
  EXPECT_EQ(early.message(), "container \"c\" in pod \"p\" is waiting to start: ContainerCreating");
  logs_.started_ = true;
  const Answer text = Get(std::string(kLog) + "?tailLines=5&timestamps=true");
  EXPECT_EQ(text.text, "one\ntwo\n");
  EXPECT_EQ(text.headers.Find("Content-Type"), "text/plain");
  EXPECT_EQ(logs_.last_.tail_lines, 5);
  EXPECT_TRUE(logs_.last_.timestamps);
  EXPECT_EQ(logs_.last_.container, "c");
  EXPECT_THAT(Get(std::string(kLog) + "?container=x").message(), HasSubstr("not valid for pod p"));
  EXPECT_EQ(Get("/api/v1/namespaces/default/pods/none/log").status, 404);
}

TEST_F(LogsTest, FollowedLogEndsWithTheContainer) {
  const auto follow = Watch(std::string(kLog) + "?follow=true");
  logs_.Say("line\n");
  EXPECT_EQ(follow->NextLine(), "early");
  EXPECT_EQ(follow->NextLine(), "line");
  logs_.End();
  EXPECT_TRUE(follow->WaitForEnd());
}

}  // namespace
}  // namespace berth::local
