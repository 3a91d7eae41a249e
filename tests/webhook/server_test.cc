// Goal: the webhook server's answers to valid and invalid requests; net/ tests the network.
#include <atomic>
#include <future>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "net/client.h"
#include "net/io_pool.h"
#include "webhook/webhook_server.h"

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
  return AnswerWebhook(
      request, {.facts = [](const ReviewedKind&, const api::ObjectMeta&) { return JobFacts{}; }});
}

TEST(WebhookServerTest, AConversionReviewIsAnsweredWithConvertedObjects) {
  const net::Response response = Ask("POST", "/convert?timeout=30s", R"({"request": {"uid": "u",
    "desiredAPIVersion": "kueue.x-k8s.io/v1beta2", "objects": [{"apiVersion":
    "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "spec": {"cohort": "org"}}]}})");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Json::parse(response.body)["response"]["convertedObjects"][0]["spec"]["cohortName"],
            "org");
}

TEST(WebhookServerTest, AnAdmissionReviewIsAnswered) {
  const net::Response response =
      Ask("POST", "/validate-batch-v1-job", R"({"request": {"uid": "u", "object": {}}})",
          "application/json; charset=utf-8");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(Json::parse(response.body)["response"]["allowed"], true);
}

// The review of a large object waits in a function of the test, small ones are answered meanwhile.
TEST(WebhookServerTest, LargeReviewsDoNotDelaySmallOnes) {
  std::promise<void> entered;
  std::promise<void> release;
  std::promise<void> all_refused;
  std::atomic<int> calls{0};
  std::atomic<int> refused{0};
  const auto gate = release.get_future().share();
  net::IoPool pool(2);
  auto server =
      StartWebhookServer(pool, {.address = "127.0.0.1", .port = 0, .tls = nullptr, .gates = {}},
                         {.facts = [&](const ReviewedKind&, const api::ObjectMeta& meta) {
                           if (meta.name == "large" && ++calls == 1) {
                             entered.set_value();
                             gate.wait();
                           }
                           return JobFacts{};
                         }});
  ASSERT_TRUE(server) << server.error().message;
  net::ClientOptions options;
  options.base_url = "http://127.0.0.1:" + std::to_string((*server)->port());
  options.max_connections = 32;
  net::IoPool clients(1);
  auto client = net::HttpClient::Create(clients, options);
  ASSERT_TRUE(client);
  const auto ask = [&](const std::string& name, std::size_t bytes) {
    auto answer = std::make_shared<std::promise<int>>();
    net::Request request;
    request.method = "POST";
    request.target = "/mutate-batch-v1-job";
    request.headers.Add("Content-Type", "application/json");
    request.body = R"({"request": {"uid": "u", "operation": "CREATE", "object": {"metadata": {)" +
                   (R"("name": ")" + name) +
                   R"(", "labels": {"kueue.x-k8s.io/queue-name": "q"}, "annotations": {"a": ")" +
                   std::string(bytes, 'x') + "\"}}}}}";
    (*client)->Send(std::move(request), std::chrono::seconds(60),
                    [&, answer](const auto& response) {
                      const int status = response ? response->status : 0;
                      if (status == 503 && ++refused == 5) all_refused.set_value();
                      answer->set_value(status);
                    });
    return answer->get_future();
  };
  std::vector<std::future<int>> large;
  large.push_back(ask("large", 300'000));
  entered.get_future().wait();
  for (int i = 0; i < 20; ++i) large.push_back(ask("large", 300'000));
  EXPECT_EQ(ask("small", 10).get(), 200);
  all_refused.get_future().wait();  // 21 large ones: one is answered, 15 wait
  release.set_value();
  int served = 0;
  for (auto& each : large) served += each.get() == 200 ? 1 : 0;
  EXPECT_EQ(served, 16);
  client->reset();
  (*server)->Stop();
  pool.Stop();
}

TEST(WebhookServerTest, InvalidRequestsGetAnErrorStatus) {
  EXPECT_EQ(Ask("GET", "/convert", "").status, 405);
  EXPECT_EQ(Ask("POST", "/nowhere", "{}").status, 404);
  EXPECT_EQ(Ask("POST", "/convert", "{}", "text/plain").status, 415);
  EXPECT_EQ(Ask("POST", "/validate-batch-v1-job", "{nonsense").status, 400);
  EXPECT_EQ(Ask("POST", "/validate-batch-v1-job", "[]").status, 400);
  EXPECT_EQ(Ask("POST", "/validate-batch-v1-job", "\xff\xfe").status, 400);
}

TEST(WebhookServerTest, DeeplyNestedBodyIsRejected) {
  const std::string arrays(240 * 1024, '[');
  std::string objects;
  for (int i = 0; i < 40'000; ++i) objects += R"({"a":)";
  const auto closed = [](std::size_t depth) {
    return R"({"request":{"uid":"u","object":)" + std::string(depth, '[') +
           std::string(depth, ']') + "}}";
  };
  for (const char* path : {"/convert", "/mutate-batch-v1-job", "/validate-batch-v1-job",
                           "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue"}) {
    for (const std::string& body : {arrays, objects, closed(120'000)}) {
      const net::Response response = Ask("POST", path, body);
      EXPECT_EQ(response.status, 400) << path;
      EXPECT_NE(response.body.find("nested deeper than 256 levels"), std::string::npos) << path;
    }
    EXPECT_EQ(Ask("POST", path, closed(254)).status, 200) << path;
  }
}
// The deepest allowed object, where the answer contains the object.
TEST(WebhookServerTest, TheDeepestObjectIsConvertedAndPatched) {
  const std::string deep = std::string(240, '[') + std::string(240, ']');
  const net::Response converted = Ask("POST", "/convert",
                                      R"({"request": {"uid": "u",
    "desiredAPIVersion": "kueue.x-k8s.io/v1beta2", "objects": [{"apiVersion":
    "kueue.x-k8s.io/v1beta1", "kind": "Workload", "spec": {"x": )" +
                                          deep + "}}]}}");
  EXPECT_EQ(Json::parse(converted.body)["response"]["result"]["status"], "Success");
  const net::Response patched =
      Ask("POST", "/mutate-kueue-x-k8s-io-v1beta2-clusterqueue",
          R"({"request": {"uid": "u", "object": {"metadata": {}, "spec": )" + deep + "}}}");
  EXPECT_EQ(Json::parse(patched.body)["response"]["patchType"], "JSONPatch");
}

// 200 bytes that expand to a hundred thousand domains each.
TEST(WebhookServerTest, ConversionIsBounded) {
  const std::string slice = R"({"domainCount": 100000, "podCounts": {"universal": 1},
      "valuesPerLevel": [{"universal": "x"}]})";
  const auto ask = [](const std::string& slices) {
    const net::Response response = Ask("POST", "/convert",
                                       R"({"request": {"uid": "u",
      "desiredAPIVersion": "kueue.x-k8s.io/v1beta1", "objects": [{"apiVersion":
      "kueue.x-k8s.io/v1beta2", "kind": "Workload", "status": {"admission": {
      "podSetAssignments": [{"topologyAssignment": {"levels": ["a"], "slices": [)" +
                                           slices + "]}}]}}}]}}");
    return Json::parse(response.body)["response"]["result"]["message"].dump();
  };
  std::string many = slice;
  for (int i = 0; i < 1000; ++i) many += "," + slice;
  EXPECT_NE(ask(many).find("more than 250000 domains"), std::string::npos);
  for (const char* count : {"1e300", "-1", "1000000000000", "\"x\"", "0"}) {
    EXPECT_NE(ask(R"({"domainCount": )" + std::string(count) +
                  R"(, "podCounts": {"universal": 1}, "valuesPerLevel": [{"universal": "x"}]})")
                  .find("domainCount: must be between 1 and 100000"),
              std::string::npos)
        << count;
  }
  const std::string long_name(1'000'000, 'x');
  EXPECT_NE(ask(R"({"domainCount": 100000, "podCounts": {"universal": 1},
      "valuesPerLevel": [{"universal": ")" +
                long_name + R"("}]})")
                .find("names of the domains are too long"),
            std::string::npos);
}

}  // namespace
}  // namespace berth::webhook
