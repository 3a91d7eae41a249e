// Goal: what the webhook server answers to requests, good and bad; the network itself is net/'s.
#include "webhook/server.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace berth::webhook {
namespace {

using Json = nlohmann::json;

net::Response Ask(std::string method, std::string target, std::string body,
                  std::string type = "application/json") {
  net::Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  request.headers.Add("Content-Type", std::move(type));
  return AnswerWebhook(request, [](const api::Job&) { return JobFacts{}; });
}

TEST(WebhookServerTest, Conversion) {
  const net::Response response = Ask("POST", "/convert?timeout=30s", R"({"request": {"uid": "u",
    "desiredAPIVersion": "kueue.x-k8s.io/v1beta2", "objects": [{"apiVersion":
    "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "spec": {"cohort": "org"}}]}})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Json::parse(response.body)["response"]["convertedObjects"][0]["spec"]["cohortName"],
            "org");
}

TEST(WebhookServerTest, Review) {
  const net::Response response =
      Ask("POST", "/validate-batch-v1-job", R"({"request": {"uid": "u", "object": {}}})",
          "application/json; charset=utf-8");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Json::parse(response.body)["response"]["allowed"], true);
}

TEST(WebhookServerTest, BadRequestsAreTold) {
  EXPECT_EQ(Ask("GET", "/convert", "").status, 405);
  EXPECT_EQ(Ask("POST", "/nowhere", "{}").status, 404);
  EXPECT_EQ(Ask("POST", "/convert", "{}", "text/plain").status, 415);
  EXPECT_EQ(Ask("POST", "/validate-batch-v1-job", "{nonsense").status, 400);
  EXPECT_EQ(Ask("POST", "/validate-batch-v1-job", "[]").status, 400);
  EXPECT_EQ(Ask("POST", "/validate-batch-v1-job", "\xff\xfe").status, 400);
}

}  // namespace
}  // namespace berth::webhook
