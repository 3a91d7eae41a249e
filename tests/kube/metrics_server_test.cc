// Goal: each answer of the gate gives the status that a scraper expects, and no request bypasses
// the gate. Method: a gate that answers by the token, real HTTP.
#include "kube/runtime/metrics_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/client.h"
#include "net/io_pool.h"
#include "net/server.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Outcome = AccessAnswer::Outcome;

void AnswerByToken(const AccessQuestion& question, const AccessReviews::Done& done) {
  if (question.path == "/shadow") {
    return done({.outcome = question.token == "shadow" ? Outcome::kAllowed : Outcome::kDenied});
  }
  EXPECT_EQ(question.path, "/metrics");
  if (question.token == "may") return done({.outcome = Outcome::kAllowed, .user = "prometheus"});
  if (question.token == "may-not") return done({.outcome = Outcome::kDenied, .user = "jane"});
  if (question.token == "lost") return done({.error = "TokenReview: no answer"});
  if (question.token == "half") return done({.user = "jane", .error = "SubjectAccessReview: none"});
  if (question.token == "busy") return done({.outcome = Outcome::kOverloaded});
  if (question.token == question.verb) return done({.outcome = Outcome::kAllowed});
  done({.outcome = Outcome::kNoUser});
}

class MetricsServerTest : public ::testing::Test {
 protected:
  void TearDown() override {
    if (server_ != nullptr) server_->Stop();
    pool_.Stop();
  }
  void StartWith(AccessGate gate) {
    metrics_.SetGauge("berth_ledger_bytes", {}, 42);
    auto server =
        StartMetricsServer(pool_, {.pages = {{"/shadow", [] { return std::string("{}"); }}}},
                           metrics_, std::move(gate));
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  net::Response Ask(const std::string& authorization, const std::string& method = "GET",
                    const std::string& target = "/metrics") {
    auto client = net::HttpClient::Create(
        pool_, {.base_url = "http://127.0.0.1:" + std::to_string(server_->port())});
    net::Request request;
    request.method = method;
    request.target = target;
    if (!authorization.empty()) request.headers.Add("Authorization", authorization);
    auto answer = (*client)->SendAndWait(std::move(request), 10s);
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? *answer : net::Response{.status = 0};
  }

  net::IoPool pool_{1};
  Metrics metrics_;
  std::unique_ptr<net::HttpServer> server_;
};

TEST_F(MetricsServerTest, AccessReviewDecidesEachRequest) {
  StartWith(AnswerByToken);
  struct Row {
    const char* authorization;
    int status;
    const char* body;
  };
  const Row rows[] = {
      {"Bearer may", 200, "berth_ledger_bytes 42"},
      {"bearer may ", 200, "berth_ledger_bytes 42"},
      {"", 401, "Unauthorized"},
      {"Bearer", 401, "Unauthorized"},
      {"Bearer ", 401, "Unauthorized"},
      {"Basic may", 401, "Unauthorized"},
      {"may", 401, "Unauthorized"},
      {"Bearer wrong", 401, "Unauthorized"},
      {"Bearer may-not", 403, "Authorization denied for user jane"},
      {"Bearer lost", 500, "Authentication failed"},
      {"Bearer half", 500, "Authorization for user jane failed"},
      {"Bearer busy", 503, "too many"},
  };
  for (const Row& row : rows) {
    const net::Response answer = Ask(row.authorization);
    EXPECT_EQ(answer.status, row.status) << row.authorization;
    EXPECT_THAT(answer.body, HasSubstr(row.body)) << row.authorization;
    EXPECT_EQ(answer.body.find("berth_ledger_bytes 42") != std::string::npos, row.status == 200);
  }
  EXPECT_EQ(Ask("Bearer head", "HEAD").status, 200) << "the verb is that of the request";
  EXPECT_EQ(Ask("Bearer get", "HEAD").status, 401);
  EXPECT_EQ(Ask("Bearer may", "POST").status, 405);
  EXPECT_EQ(Ask("Bearer may", "GET", "/").status, 404);
}

TEST_F(MetricsServerTest, MetricsWithoutAccessReviewAreOpen) {
  StartWith(nullptr);
  EXPECT_THAT(Ask("").body, HasSubstr("berth_ledger_bytes 42"));
  EXPECT_EQ(Ask("", "GET", "/metrics?x=y").status, 200);
  EXPECT_EQ(Ask("", "GET", "/healthz").status, 404);
}

TEST_F(MetricsServerTest, EachPageHasItsOwnRight) {
  StartWith(AnswerByToken);
  EXPECT_EQ(Ask("Bearer may", "GET", "/shadow").status, 403);
  const net::Response shown = Ask("Bearer shadow", "GET", "/shadow?pretty");
  EXPECT_EQ(shown.status, 200);
  EXPECT_EQ(shown.body, "{}");
  EXPECT_EQ(shown.headers.Find("Content-Type"), "application/json");
  EXPECT_EQ(Ask("Bearer shadow", "GET", "/other").status, 404);
}

}  // namespace
}  // namespace berth::kube
