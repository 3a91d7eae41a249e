// tests/local/apiserver/server/webhook_fixture.h — a server with a webhook over HTTPS that the test
// answers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/strings.h"
#include "net/server.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {

inline constexpr const char* kMutating =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
inline constexpr const char* kValidating =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

class WebhookTest : public ServerTest {
 protected:
  using Review = std::function<Json(const Json& review)>;

  void TearDown() override {
    if (hook_ != nullptr) hook_->Stop();
    hook_.reset();
    ServerTest::TearDown();
  }

  // Serves `review` on HTTPS under the name hook.default.svc.
  void Serve(Review review, int status = 200) {
    ServeAt("127.0.0.1", std::move(review), status);
    server_->SetWebhookService("hook.default.svc",
                               "https://127.0.0.1:" + std::to_string(hook_->port()));
  }

  // The same at an address that only the Service of that name tells.
  void ServeAt(const std::string& address, Review review, int status = 200) {
    auto identity = server_->IssueServerCertificate("hook", {"hook.default.svc"});
    ASSERT_TRUE(identity);
    net::ServerOptions options;
    options.address = address;
    options.tls = std::make_shared<const net::TlsIdentity>(
        net::TlsIdentity{identity->certificate_chain_pem, identity->private_key_pem});
    auto started = net::HttpServer::Start(
        *io_, std::move(options),
        [this, status, review = std::move(review)](
            net::Request request, const std::shared_ptr<net::Responder>& responder) {
          const Json asked = Json::parse(request.body);
          last_ = asked;
          path_ = request.target;
          ++calls_;
          const Json answer = review(asked);
          responder->Send({status, {{"Content-Type", "application/json"}}, answer.dump()});
        });
    ASSERT_TRUE(started) << started.error().message;
    hook_ = *std::move(started);
  }

  // The client configuration of Hook, with the port of the running webhook.
  Json PortConfig() {
    Json config = ClientConfig();
    config["service"]["port"] = hook_->port();
    return config;
  }

  Json ClientConfig() {
    return {{"service", {{"name", "hook"}, {"namespace", "default"}, {"path", "/x"}}},
            {"caBundle", Base64Encode(server_->ca_pem())}};
  }

  Json Hook(const char* resource) {
    return {{"name", "hook.example.com"},
            {"clientConfig", ClientConfig()},
            {"sideEffects", "None"},
            {"admissionReviewVersions", {"v1"}},
            {"rules", Json::array({{{"operations", {"CREATE", "UPDATE"}},
                                    {"apiGroups", {"*"}},
                                    {"apiVersions", {"v1"}},
                                    {"resources", {resource}}}})}};
  }

  void Register(const char* path, const Json& hook) {
    const Answer created =
        Post(path, {{"metadata", {{"name", "hooks"}}}, {"webhooks", Json::array({hook})}});
    ASSERT_EQ(created.status, 201) << created.text;
  }

  static Json Answered(const Json& review, Json response) {
    response["uid"] = review["request"]["uid"];
    return {{"apiVersion", "admission.k8s.io/v1"},
            {"kind", "AdmissionReview"},
            {"response", std::move(response)}};
  }

  std::unique_ptr<net::HttpServer> hook_;
  Json last_;         // request
  std::string path_;  // the path of the last request
  std::atomic<int> calls_{0};
};

}  // namespace berth::local
