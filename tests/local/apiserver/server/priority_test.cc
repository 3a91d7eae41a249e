// Goal: leaders renew their leases, and health answers, while ordinary requests wait.
// Method: handlers of an API group that block until the test lets them go take every thread that
// one user may have of those that serve reads.
#include <atomic>
#include <future>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
constexpr int kThreads = 48;  // one user's part of the 64 of the pool of reads

TEST_F(ServerTest, LeasesAndHealthAnswerWhileAllOtherRequestsWait) {
  std::promise<void> release;
  const std::shared_future<void> gate = release.get_future().share();
  std::promise<void> all_inside;
  std::atomic<int> inside{0};
  server_->SetExtension("slow.example.com", [&](const net::Request&) {
    if (++inside == kThreads) all_inside.set_value();
    gate.wait();
    return net::Response{200, {}, "{}"};
  });
  net::ClientOptions options;
  options.base_url = server_->url();
  options.ca_pem = server_->ca_pem();
  options.bearer_token = server_->token();
  options.max_connections = kThreads + 1;
  auto many = net::HttpClient::Create(*io_, std::move(options));
  ASSERT_TRUE(many);
  std::atomic<int> answered{0};
  std::promise<void> all_answered;
  const auto ask = [&](const std::string& target) {
    net::Request request;
    request.method = "GET";
    request.target = target;
    (*many)->Send(std::move(request), std::chrono::seconds(60), [&](const auto&) {
      if (++answered == kThreads + 1) all_answered.set_value();
    });
  };
  for (int i = 0; i < kThreads; ++i) ask("/apis/slow.example.com/v1/things");
  all_inside.get_future().wait();
  ask(kMaps);
  const Json lease{{"metadata", {{"name", "l"}}}, {"spec", {{"holderIdentity", "a"}}}};
  EXPECT_EQ(Post(kLeases, lease).status, 201);
  EXPECT_EQ(Get(std::string(kLeases) + "/l").status, 200);
  EXPECT_EQ(
      Patch(std::string(kLeases) + "/l", "merge", {{"spec", {{"holderIdentity", "b"}}}}).status,
      200);
  for (const char* path : {"/healthz", "/livez", "/readyz", "/version"}) {
    EXPECT_EQ(Get(path).status, 200) << path;
  }
  EXPECT_EQ(answered, 0);  // the ordinary request waits behind the others
  release.set_value();
  all_answered.get_future().wait();
}

}  // namespace
}  // namespace berth::local
