// Goal: /metrics counts the calls of webhooks as kube-apiserver does; audit events have the
// webhooks' annotations.
#include "local/apiserver/webhooks/webhook_metrics.h"

#include <fstream>

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/webhook_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WebhookMetricsTest : public WebhookTest {
 protected:
  std::string Metrics() { return Get("/metrics").text; }

  // The labels of a call of the fixture's webhook on create, in the order of each metric.
  static std::string Requests(const char* code, const char* rejected, const char* type) {
    return Line("request_total", {{"code", code},
                                  {"name", "hook.example.com"},
                                  {"operation", "CREATE"},
                                  {"rejected", rejected},
                                  {"type", type}});
  }
  static std::string Rejections(const char* error_type, const char* code, const char* type) {
    return Line("rejection_count", {{"error_type", error_type},
                                    {"name", "hook.example.com"},
                                    {"operation", "CREATE"},
                                    {"rejection_code", code},
                                    {"type", type}});
  }

  // One sample with the value 1.
  static std::string Line(const std::string& metric,
                          const std::vector<std::pair<std::string, std::string>>& labels) {
    std::string text;
    for (const auto& [name, value] : labels) {
      text.append(text.empty() ? "" : ",").append(name).append("=\"").append(value).append("\"");
    }
    return "apiserver_admission_webhook_" + metric + "{" + text + "} 1\n";
  }
};

TEST_F(WebhookMetricsTest, NoSeriesExistWithoutCalls) {
  EXPECT_THAT(Metrics(), Not(HasSubstr("apiserver_admission_webhook")));
}

TEST_F(WebhookMetricsTest, AllowedWriteIsCountedWithItsDuration) {
  Serve([](const Json& review) { return Answered(review, {{"allowed", true}}); });
  Register(kMutating, Hook("configmaps"));
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr(Requests("200", "false", "admit")));
  EXPECT_THAT(metrics, HasSubstr("# TYPE apiserver_admission_webhook_admission_duration_seconds "
                                 "histogram\n"));
  EXPECT_THAT(metrics,
              HasSubstr(Line("admission_duration_seconds_bucket", {{"name", "hook.example.com"},
                                                                   {"operation", "CREATE"},
                                                                   {"rejected", "false"},
                                                                   {"type", "admit"},
                                                                   {"le", "+Inf"}})));
  EXPECT_THAT(metrics, Not(HasSubstr("webhook_rejection_count")));
  EXPECT_THAT(metrics, Not(HasSubstr("webhook_fail_open_count")));
}

TEST_F(WebhookMetricsTest, RejectionIsCountedWithItsCode) {
  Serve([](const Json& review) {
    return Answered(review, {{"allowed", false}, {"status", {{"code", 403}}}});
  });
  Register(kValidating, Hook("configmaps"));
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 403);
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr(Requests("403", "true", "validating")));
  EXPECT_THAT(metrics, HasSubstr(Rejections("no_error", "403", "validating")));
}

TEST_F(WebhookMetricsTest, InvalidReviewIsCountedAsACallingError) {
  Serve([](const Json&) { return Json::object(); });
  Register(kValidating, Hook("configmaps"));
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 500);
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr(Requests("503", "true", "validating")));
  EXPECT_THAT(metrics, HasSubstr(Rejections("calling_webhook_error", "503", "validating")));
}

TEST_F(WebhookMetricsTest, IgnoredHttpErrorIsCountedAsFailOpen) {
  Serve([](const Json&) { return Json(); }, 502);
  Json hook = Hook("configmaps");
  hook["failurePolicy"] = "Ignore";
  Register(kMutating, hook);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr(Requests("502", "false", "admit")));
  EXPECT_THAT(metrics, HasSubstr(Line("fail_open_count",
                                      {{"name", "hook.example.com"}, {"type", "admit"}})));
  EXPECT_THAT(metrics, Not(HasSubstr("webhook_rejection_count")));
}

TEST_F(WebhookMetricsTest, InapplicablePatchIsCountedAsAnError) {
  Serve([](const Json& review) {
    const Json patch = Json::array({{{"op", "remove"}, {"path", "/data/none"}}});
    return Answered(
        review,
        {{"allowed", true}, {"patchType", "JSONPatch"}, {"patch", Base64Encode(patch.dump())}});
  });
  Register(kMutating, Hook("configmaps"));
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 500);
  const std::string metrics = Metrics();
  EXPECT_THAT(metrics, HasSubstr(Requests("0", "true", "admit")));
  EXPECT_THAT(metrics, HasSubstr(Rejections("apiserver_internal_error", "0", "admit")));
}

TEST_F(WebhookMetricsTest, WebhookThatIsNotCalledIsNotCounted) {
  Serve([](const Json& review) { return Answered(review, {{"allowed", true}}); });
  Json hook = Hook("configmaps");
  hook["matchConditions"] =
      Json::array({{{"name", "never"}, {"expression", "object.metadata.name == 'other'"}}});
  Register(kValidating, hook);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  EXPECT_THAT(Metrics(), Not(HasSubstr("apiserver_admission_webhook")));
}

TEST(WebhookCountsTest, SeriesAreBounded) {
  WebhookMetrics metrics;
  for (std::size_t i = 0; i <= WebhookMetrics::kMostSeries; ++i) {
    metrics.Count({.ending = WebhookCall::Ending::kFailedOpen,
                   .webhook = std::to_string(i),
                   .type = "admit",
                   .operation = "CREATE",
                   .code = 700});
  }
  const WebhookMetrics::Counts counts = metrics.counts();
  EXPECT_EQ(counts.requests.size(), WebhookMetrics::kMostSeries);
  EXPECT_EQ(counts.failed_open.size(), WebhookMetrics::kMostSeries);
  EXPECT_EQ(counts.requests.begin()->first.front(), "600");
}

class WebhookAuditTest : public WebhookTest {
 protected:
  void SetUp() override {
    ApiServerOptions options;
    options.audit_log = folder_.path() + "/audit.log";
    StartServer(std::move(options));
  }
};

TEST_F(WebhookAuditTest, AnnotationsOfAnAnswerAreInTheAuditEvent) {
  Serve([](const Json& review) {
    return Answered(review, {{"allowed", false}, {"auditAnnotations", {{"why", "too late"}}}});
  });
  Register(kValidating, Hook("configmaps"));
  EXPECT_EQ(Post(kMaps, ConfigMapJson("a")).status, 400);
  hook_->Stop();
  hook_.reset();
  StopServer();
  std::ifstream file(folder_.path() + "/audit.log");
  Json last;
  for (std::string line; std::getline(file, line);) last = Json::parse(line, nullptr, false);
  ASSERT_TRUE(last.is_object());
  EXPECT_EQ(last["annotations"].value("hook.example.com/why", ""), "too late") << last;
}

}  // namespace
}  // namespace berth::local
