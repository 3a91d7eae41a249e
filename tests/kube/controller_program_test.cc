// Goal: /readyz is true when the caches have synced and the other conditions hold, not earlier.
// Method: the test plays the API server, and answers a list on command.

#include "kube/runtime/controller_program.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/queues.h"
#include "base/system_clock.h"
#include "net/certificates.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "net/server.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ControllerProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = net::HttpServer::Start(
        pool_, {}, [this](const net::Request& request, std::shared_ptr<net::Responder> responder) {
          const net::Headers json{{"Content-Type", "application/json"}};
          if (request.target.find("tokenreviews") != std::string::npos) {
            return responder->Send(
                {201, json, R"({"status":{"authenticated":true,"user":{"username":"jane"}}})"});
          }
          if (request.target.find("subjectaccessreviews") != std::string::npos) {
            return responder->Send({201, json, R"({"status":{"allowed":true}})"});
          }
          if (request.target.find("watch=") != std::string::npos) {
            stream_ = responder->StartStream(200, json);
            return;
          }
          if (request.method == "POST" && request.target.find("/events") != std::string::npos) {
            ++events_;
            return responder->Send({201, json, request.body});
          }
          if (!lists_) return responder->Send({500, json, "{}"});
          responder->Send({200, json, R"({"metadata":{"resourceVersion":"1"},"items":[]})"});
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    ControllerProgramOptions options;
    options.config.server = "http://127.0.0.1:" + std::to_string(server_->port());
    options.identity = "test";
    options.health.emplace();
    options.not_ready_before = "the webhook port does not answer";
    auto program = ControllerProgram::Create(clock_, std::move(options));
    ASSERT_TRUE(program) << program.error().message;
    program_ = *std::move(program);
    program_->RunOnStrand([&] { program_->manager().InformerFor<api::ResourceFlavor>(); });
    program_->Start([](const std::string&) {});
  }
  void TearDown() override {
    program_->Stop();
    server_->Stop();
    pool_.Stop();
  }

  std::string Ready() {
    auto client = net::HttpClient::Create(
        pool_, {.base_url = "http://127.0.0.1:" + std::to_string(program_->health_port())});
    net::Request request;
    request.method = "GET";
    request.target = "/readyz";
    const auto answer = (*client)->SendAndWait(std::move(request), 10s);
    return answer ? std::to_string(answer->status) + " " + answer->body : answer.error().message;
  }
  // Requests repeatedly until the answer has `text`, for 20 seconds at most.
  std::string ReadyWith(const std::string& text) {
    const SteadyTime end = clock_.SteadyNow() + 20s;
    std::string answer = Ready();
    while (answer.find(text) == std::string::npos && clock_.SteadyNow() < end) answer = Ready();
    return answer;
  }

  SystemClock clock_;
  net::IoPool pool_{1};
  std::atomic<bool> lists_ = false;
  std::atomic<int> events_ = 0;
  std::shared_ptr<net::Stream> stream_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<ControllerProgram> program_;
};

TEST_F(ControllerProgramTest, IsReadyAfterCacheSyncAndConfirmation) {
  EXPECT_THAT(Ready(), HasSubstr("503 the caches have not synced"));
  lists_ = true;
  EXPECT_THAT(ReadyWith("webhook"), HasSubstr("503 the webhook port does not answer"));
  program_->ConfirmReady();
  EXPECT_EQ(Ready(), "200 ok\n");
}

TEST_F(ControllerProgramTest, QueuedEventsAreWrittenBeforeTheEnd) {
  lists_ = true;
  ASSERT_TRUE(program_->WaitUntilRunning(20s));
  constexpr int kEvents = 300;
  program_->RunOnStrand([&] {
    for (int i = 0; i < kEvents; ++i) {
      const std::string name = "w" + std::to_string(i);
      program_->events().Record({"v1", "Pod", {"team", name}, "uid-" + name, "5"},
                                EventType::kNormal, "Admitted", "", "n");
    }
    EXPECT_GT(program_->events().queued(), 200U) << "the pace holds them back";
  });
  EXPECT_THAT(program_->metrics().Text(),
              HasSubstr("berth_dropped_events_total{reason=\"queue\"} 0"));
  program_->Stop();
  EXPECT_EQ(events_, kEvents);
}

// An identity for "localhost" and the certificate that vouches for it.
struct Served {
  std::shared_ptr<const net::TlsIdentity> identity;
  std::string ca_pem;
};

Served MakeServed() {
  const WallTime now = SystemClock().Now();
  const auto authority = net::MakeCertificateAuthority("ca", now - 1h, now + 1h);
  EXPECT_TRUE(authority);
  const auto identity = net::IssueCertificate(*authority, {.common_name = "localhost",
                                                           .dns_names = {"localhost"},
                                                           .for_server = true,
                                                           .not_before = now - 1h,
                                                           .not_after = now + 1h});
  EXPECT_TRUE(identity);
  return {std::make_shared<const net::TlsIdentity>(*identity), authority->certificate_chain_pem};
}

TEST_F(ControllerProgramTest, MetricsAreServedOverTlsWithTheLatestCertificate) {
  program_->metrics().SetGauge("berth_ledger_bytes", {}, 42);
  const Served first = MakeServed();
  const Served second = MakeServed();
  ASSERT_TRUE(program_->ServeMetrics({.tls = first.identity}));
  // Each time over a new connection.
  const auto read = [&](const std::string& token, const Served& trusted) {
    auto client = net::HttpClient::Create(
        pool_, {.base_url = "https://127.0.0.1:" + std::to_string(program_->metrics_port()),
                .ca_pem = trusted.ca_pem,
                .server_name = "localhost",
                .bearer_token = token});
    net::Request request;
    request.method = "GET";
    request.target = "/metrics";
    const auto answer = (*client)->SendAndWait(std::move(request), 10s);
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(read("", first), 401);
  EXPECT_EQ(read("token", first), 200);
  ASSERT_TRUE(program_->ReplaceServingTls(second.identity));
  EXPECT_EQ(read("token", second), 200);
  EXPECT_EQ(read("token", first), 0) << "the old certificate is not served";
}

}  // namespace
}  // namespace berth::kube
