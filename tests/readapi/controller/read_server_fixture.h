// A read server over HTTPS with a model of two teams, and a gate that answers by a table of tokens.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include "base/system_clock.h"
#include "net/certificates.h"
#include "net/client.h"
#include "net/io_pool.h"
#include "readapi/controller/read_server.h"
#include "tests/readapi/rows.h"

namespace berth::readapi {

class ReadServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    net::CertificateRequest request;
    request.not_before = WallTime(std::chrono::seconds(1'700'000'000));
    request.not_after = WallTime(std::chrono::seconds(4'000'000'000));
    authority_ = *net::MakeCertificateAuthority("ca", request.not_before, request.not_after);
    request.common_name = "server";
    request.dns_names = {"localhost"};
    request.for_server = true;
    for (const char* space : {"team-a", "team-b"}) {
      for (const char* name : {"one", "two", "three"}) {
        model_.Put(kWorkloads, MakeRow({.space = space, .name = std::string(space) + "-" + name}));
      }
    }
    model_.Put(kQueues, MakeQueueRow("shared", 6, AudienceOf({"team-a", "team-b"})));
    model_.Put(kQueues, MakeQueueRow("of-team-b", 0, AudienceOf({"team-b"})));
    auto server = ReadServer::Start(
        pool_, clock_,
        {.tls =
             std::make_shared<const net::TlsIdentity>(*net::IssueCertificate(authority_, request)),
         .version = "9.9.9",
         .streams = {.tick = std::chrono::milliseconds(1)},
         .page = {{"/", "text/html; charset=utf-8", "the page", "", {"/workloads"}}},
         .random = [](std::size_t count) { return std::string(count, 'r'); },
         .access = {.actions = actions_}},
        {.strand = strand_.get(),
         .model = &model_,
         .is_ready = [this] { return ready_; },
         .story = [](const std::string&, const std::string& name) -> std::optional<std::string> {
           return "{\"subject\":" + QuoteJson(name) + "}";
         },
         .report =
             [](const ReportQuery& query, const std::function<void(Result<std::string>)>& done) {
               if (query.days == 366) return done(Error{ErrorCode::kInvalid, "fewer days"});
               done("report of " + (query.namespaces.empty() ? "all" : query.namespaces[0]));
             },
         .caller =
             [](const CallerRequest& asked, const std::function<void(Result<std::string>)>& done,
                const std::function<bool()>&) {
               if (asked.kind == CallerRequest::Kind::kStory) return done(StoryFor(asked));
               if (asked.body == "forbidden") return done(Error{ErrorCode::kForbidden, "not you"});
               done(asked.token + " " + std::to_string(static_cast<int>(asked.kind)) + " " +
                    (asked.namespaces.empty() ? "all" : asked.namespaces[0]) + " " + asked.body);
             }},
        [this](const kube::AccessQuestion& question, const kube::AccessReviews::Done& done) {
          Decide(question, done);
        });
    ASSERT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
    net::ClientOptions options;
    options.base_url = "https://localhost:" + std::to_string(server_->port());
    options.ca_pem = authority_.certificate_chain_pem;
    client_ = *net::HttpClient::Create(client_pool_, std::move(options));
  }
  void TearDown() override {
    client_.reset();
    server_->Stop();
    pool_.Stop();
    client_pool_.Stop();
  }

  // What the API server gives to the caller for one Workload.
  static Result<std::string> StoryFor(const CallerRequest& asked) {
    if (asked.name == "team-a-two") return Error{ErrorCode::kUnavailable, "no answer"};
    if (asked.name == "team-a-three") return Error{ErrorCode::kForbidden, "not you"};
    return R"({"story":{"subject":"asked by )" + asked.token + " for " +
           (asked.namespaces.empty() ? "all" : asked.namespaces[0]) +
           R"("},"pods":[{"name":"p"}],"podsLeftOut":0})" + "\n";
  }

  void Decide(const kube::AccessQuestion& question, const kube::AccessReviews::Done& done) {
    ++asked_;
    if (question.token == "busy")
      return done({.outcome = kube::AccessAnswer::Outcome::kOverloaded});
    if (question.token == "lost") return done({.error = "no answer"});
    const bool own = question.token == "tenant" && question.verb == "list" && question.resource &&
                     question.resource->namespace_name == "team-a";
    if (question.token == "admin" || own) {
      return done({.outcome = kube::AccessAnswer::Outcome::kAllowed, .user = question.token});
    }
    if (question.token == "tenant")
      return done({.outcome = kube::AccessAnswer::Outcome::kDenied, .user = "tenant"});
    done({.outcome = kube::AccessAnswer::Outcome::kNoUser});
  }

  net::Request Get(const std::string& target, const std::string& token) {
    net::Request request{.method = "GET", .target = target};
    if (!token.empty()) request.headers.Add("Authorization", "Bearer " + token);
    return request;
  }
  net::Response Send(net::Request request) {
    const auto answer = client_->SendAndWait(std::move(request), std::chrono::seconds(10));
    return answer ? *answer : net::Response{.status = 0, .body = answer.error().message};
  }
  net::Response Ask(const std::string& target, const std::string& token) {
    return Send(Get(target, token));
  }
  void Change(Row row) {
    std::promise<void> done;
    strand_->Post([&] {
      model_.Put(kWorkloads, std::move(row));
      server_->Changed();
      done.set_value();
    });
    done.get_future().wait();
  }

  SystemClock clock_;
  net::IoPool pool_{2};
  net::IoPool client_pool_{1};
  std::unique_ptr<Executor> strand_ = pool_.MakeStrand();
  Model model_{"e1"};
  bool ready_ = true;
  bool actions_ = false;
  std::atomic<int> asked_{0};
  net::TlsIdentity authority_;
  std::unique_ptr<ReadServer> server_;
  std::unique_ptr<net::HttpClient> client_;
};

}  // namespace berth::readapi
