// Goal: no more requests reach the API than the limit allows, in the order in which they were asked
// for, and none waits beyond its timeout. Method: a scripted API in virtual time.

#include "kube/client/rate_limited_transport.h"

#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

class RateLimitTest : public KubeTest {
 protected:
  void Limit(TokenBucket::Limit limit) {
    limited_ = LimitRequests(api_, executor_, clock_,
                             std::make_shared<TokenBucket>(limit, clock_.SteadyNow()));
  }

  static ApiRequest Get(const std::string& path) {
    ApiRequest request;
    request.method = "GET";
    request.path = path;
    return request;
  }

  void Send(const std::string& name, Duration timeout = 30s) {
    limited_->Send(Get("/api/v1/nodes/" + name), timeout,
                   [this, name, begin = clock_.SteadyNow()](const Result<ApiResponse>& answer) {
                     const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(
                         clock_.SteadyNow() - begin);
                     answers_.push_back(name + " " + (answer ? "answered" : "failed") + " after " +
                                        std::to_string(waited.count() / 100 * 100) + " ms");
                   });
  }

  std::unique_ptr<Transport> limited_;
  std::vector<std::string> answers_;
};

TEST_F(RateLimitTest, BurstIsSentAtOnceAndTheRestAtTheRate) {
  Limit({.per_second = 2, .burst = 3});
  for (const char* name : {"a", "b", "c", "d", "e"}) Send(name);
  executor_.RunFor(400ms);
  EXPECT_EQ(answers_.size(), 3U);
  executor_.RunFor(10s);
  EXPECT_EQ(answers_, (std::vector<std::string>{"a answered after 0 ms", "b answered after 0 ms",
                                                "c answered after 0 ms", "d answered after 500 ms",
                                                "e answered after 1000 ms"}));
}

TEST_F(RateLimitTest, UnusedTurnsAccumulateUpToTheBurst) {
  Limit({.per_second = 10, .burst = 2});
  Send("a");
  executor_.RunFor(60s);
  for (const char* name : {"b", "c", "d"}) Send(name);
  executor_.RunFor(50ms);
  EXPECT_EQ(answers_.size(), 3U);
  executor_.RunFor(1s);
  EXPECT_EQ(answers_.back(), "d answered after 100 ms");
}

TEST_F(RateLimitTest, RequestFailsAtOnceWhenItsTurnIsAfterItsTimeout) {
  Limit({.per_second = 1, .burst = 1});
  Send("a");
  Send("b", 500ms);
  Send("c", 5s);
  executor_.RunFor(10s);
  EXPECT_EQ(answers_, (std::vector<std::string>{"b failed after 0 ms", "a answered after 0 ms",
                                                "c answered after 1000 ms"}));
}

TEST_F(RateLimitTest, WatchesWaitForTheirTurn) {
  Limit({.per_second = 1, .burst = 1});
  Send("a");
  std::vector<std::string> seen;
  const auto watch = [&] {
    return limited_->Watch(Get("/api/v1/nodes?watch=1"), 90s,
                           {.on_event = [&](const WatchEvent&) { seen.push_back("event"); },
                            .on_end = [&](const Status&) { seen.push_back("end"); }});
  };
  auto kept = watch();
  auto dropped = watch();
  dropped.reset();
  executor_.RunFor(500ms);
  api_.DropWatches();
  executor_.RunFor(100ms);
  EXPECT_TRUE(seen.empty()) << "it has not begun yet";
  executor_.RunFor(1s);
  api_.Put("/api/v1/nodes", {{"metadata", {{"name", "n"}}}});
  executor_.RunFor(1s);
  api_.DropWatches();
  executor_.RunFor(10s);
  EXPECT_EQ(seen, (std::vector<std::string>{"event", "end"}));
}

TEST_F(RateLimitTest, DestroyedTransportSendsNothing) {
  Limit({.per_second = 1, .burst = 1});
  Send("a");
  Send("b");
  executor_.RunFor(100ms);
  limited_.reset();
  executor_.RunFor(10s);
  EXPECT_EQ(answers_.size(), 1U);
}

}  // namespace
}  // namespace berth::kube
