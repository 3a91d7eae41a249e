#include "tests/net/server_fixture.h"

#include <cstdlib>
#include <stdexcept>

#include "base/assert.h"
#include "base/strings.h"
#include "base/system_clock.h"

namespace berth::net {

const TlsIdentity& TestAuthority() {
  static const TlsIdentity authority = [] {
    const WallTime now = SystemClock().Now();
    auto made = MakeCertificateAuthority("test-ca", now - std::chrono::hours(1),
                                         now + std::chrono::hours(24));
    BERTH_ASSERT(made.has_value());
    return *made;
  }();
  return authority;
}

TlsIdentity IssueForTest(const TlsIdentity& authority, CertificateRequest request) {
  const WallTime now = SystemClock().Now();
  request.not_before = now - std::chrono::hours(1);
  if (request.not_after == WallTime()) request.not_after = now + std::chrono::hours(24);
  auto issued = IssueCertificate(authority, request);
  BERTH_ASSERT(issued.has_value());
  return *issued;
}

std::shared_ptr<const TlsIdentity> TestServerIdentity() {
  CertificateRequest request;
  request.common_name = "test-server";
  request.dns_names = {"localhost"};
  request.ip_addresses = {"127.0.0.1", "::1"};
  request.for_server = true;
  return std::make_shared<TlsIdentity>(IssueForTest(TestAuthority(), request));
}

void ServerFixture::StartServer(ServerOptions options) {
  auto started =
      HttpServer::Start(pool_, std::move(options),
                        [this](const Request& request, std::shared_ptr<Responder> responder) {
                          Handle(request, std::move(responder));
                        });
  ASSERT_TRUE(started) << started.error().message;
  server_ = *std::move(started);
}

void ServerFixture::Handle(const Request& request, std::shared_ptr<Responder> responder) {
  waiter_.Notify([&] { ++request_count_; });
  if (request.target == "/stream") {
    auto stream = responder->StartStream(200, {{"Content-Type", "text/plain"}});
    stream->OnGone([this] { waiter_.Notify([this] { ++gone_count_; }); });
    waiter_.Notify([&] { streams_.push_back(std::move(stream)); });
    return;
  }
  if (request.target == "/brief") {
    responder->StartStream(200, {})->Write("all of it");  // and dropped
    return;
  }
  if (request.target == "/late") {
    waiter_.Notify([&] { responders_.push_back(std::move(responder)); });
    return;
  }
  if (request.target == "/drop") return;
  if (request.target == "/throw") throw std::runtime_error("a broken handler");
  Response response;
  if (request.target.starts_with("/big?")) {
    response.body.assign(std::strtoul(request.target.c_str() + 5, nullptr, 10), 'x');
  } else if (request.target == "/who") {
    response.body = request.client_certificate_common_name + "|" +
                    Join(request.client_certificate_organizations, ",");
  } else {
    response.body = request.method + " " + request.target + " " + request.body;
  }
  responder->Send(std::move(response));
}

std::vector<std::shared_ptr<Stream>> ServerFixture::WaitForStreams(std::size_t count) {
  EXPECT_TRUE(waiter_.WaitFor([&] { return streams_.size() >= count; }));
  std::vector<std::shared_ptr<Stream>> streams;
  waiter_.Notify([&] { streams = streams_; });
  return streams;
}

std::vector<std::shared_ptr<Responder>> ServerFixture::WaitForResponders(std::size_t count) {
  EXPECT_TRUE(waiter_.WaitFor([&] { return responders_.size() >= count; }));
  std::vector<std::shared_ptr<Responder>> responders;
  waiter_.Notify([&] { responders.swap(responders_); });
  return responders;
}

}  // namespace berth::net
