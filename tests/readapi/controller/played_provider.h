// tests/readapi/controller/played_provider.h — an OpenID provider that a test plays: a mock, since
// a real one cannot be made to send wrong answers. (tests/cluster/test_open_id.py has a real one.)
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "base/system_clock.h"
#include "net/certificates.h"
#include "net/escapes.h"
#include "net/io_pool.h"
#include "net/server.h"
#include "readapi/open_id_options.h"

namespace berth::readapi {

class PlayedProvider {
 public:
  PlayedProvider() {
    net::CertificateRequest request;
    request.not_before = WallTime(std::chrono::seconds(1'700'000'000));
    request.not_after = WallTime(std::chrono::seconds(4'000'000'000));
    static const net::TlsIdentity authority =
        *net::MakeCertificateAuthority("ca", request.not_before, request.not_after);
    ca_pem_ = authority.certificate_chain_pem;
    request.common_name = "provider";
    request.dns_names = {"localhost"};
    request.for_server = true;
    net::ServerOptions options;
    options.tls =
        std::make_shared<const net::TlsIdentity>(*net::IssueCertificate(authority, request));
    auto started = net::HttpServer::Start(
        pool_, std::move(options),
        [this](const net::Request& asked, const std::shared_ptr<net::Responder>& responder) {
          responder->Send(Answer(asked));
        });
    EXPECT_TRUE(started);
    server_ = *std::move(started);
    Tell("issuer", issuer());
    Tell("authorization_endpoint", issuer() + "/authorize?tenant=1");
    Tell("token_endpoint", issuer() + "/token");
  }
  ~PlayedProvider() { Stop(); }
  PlayedProvider(const PlayedProvider&) = delete;
  PlayedProvider& operator=(const PlayedProvider&) = delete;

  std::string issuer() const { return "https://localhost:" + std::to_string(server_->port()); }
  OpenIdOptions Options() const {
    return {.issuer = issuer(), .client_id = "berth", .ca_pem = ca_pem_};
  }
  void Stop() { server_->Stop(); }

  // An ID token for the client "berth".
  std::string TokenWith(const std::string& nonce) const {
    const nlohmann::json claims = {{"iss", issuer()}, {"aud", "berth"}, {"nonce", nonce}};
    return "head." + Base64UrlEncode(claims.dump()) + ".signature";
  }
  // The requests for "GET PATH" and "POST PATH" so far.
  int CountOf(const std::string& what) {
    const std::lock_guard lock(mutex_);
    return counts_[what];
  }
  // The last request for tokens, and its fields.
  net::Request LastRequest() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  std::string Field(const std::string& name) {
    const net::Request last = LastRequest();
    for (const std::string_view pair : Split(last.body, '&')) {
      if (pair.starts_with(name + "=")) {
        return *net::Unescape(pair.substr(name.size() + 1), net::Plus::kBlank);
      }
    }
    return "";
  }

  // A field of the discovery document.
  void Tell(const std::string& field, nlohmann::json value) {
    const std::lock_guard lock(mutex_);
    discovery_[field] = std::move(value);
  }
  void AnswerDiscoveryWith(int status) {
    const std::lock_guard lock(mutex_);
    discovery_status_ = status;
  }
  void AnswerCodesWith(net::Response answer) {
    const std::lock_guard lock(mutex_);
    answer_to_code_ = std::move(answer);
  }

 private:
  net::Response Answer(const net::Request& asked) {
    const std::lock_guard lock(mutex_);
    ++counts_[asked.method + " " + asked.target];
    if (asked.method == "POST") {
      last_ = asked;
      return answer_to_code_;
    }
    return {.status = discovery_status_, .body = discovery_.dump()};
  }

  net::IoPool pool_{1};
  std::unique_ptr<net::HttpServer> server_;
  std::string ca_pem_;
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  net::Request last_;
  nlohmann::json discovery_;
  int discovery_status_ = 200;
  net::Response answer_to_code_{.status = 200, .body = "{}"};
};

}  // namespace berth::readapi
