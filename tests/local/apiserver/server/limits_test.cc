// Goal: neither a dead webhook nor a peer that does not read stops other requests. Method: a
// webhook that delays its answers; a TLS peer that reads on command.
#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <gmock/gmock.h>

#include "base/strings.h"
#include "net/server.h"
#include "tests/local/apiserver/server/server_fixture.h"
#include "tests/net/raw_peer.h"

namespace berth::local {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

class DeadWebhookTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    auto identity = server_->IssueServerCertificate("hook", {"hook.default.svc"});
    ASSERT_TRUE(identity);
    net::ServerOptions options;
    options.tls = std::make_shared<const net::TlsIdentity>(
        net::TlsIdentity{identity->certificate_chain_pem, identity->private_key_pem});
    auto started = net::HttpServer::Start(
        *io_, std::move(options),
        [this](net::Request request, std::shared_ptr<net::Responder> responder) {
          const std::lock_guard lock(mutex_);
          if (answering_) return Allow(request, *responder);
          held_.emplace_back(std::move(request), std::move(responder));
          changed_.notify_all();
        });
    ASSERT_TRUE(started) << started.error().message;
    hook_ = *std::move(started);
    server_->SetWebhookService("hook.default.svc",
                               "https://127.0.0.1:" + std::to_string(hook_->port()));
  }
  void TearDown() override {
    Release();
    hook_->Stop();
    hook_.reset();
    ServerTest::TearDown();
  }

  Json ClientConfig() {
    return {{"service", {{"name", "hook"}, {"namespace", "default"}, {"path", "/x"}}},
            {"caBundle", Base64Encode(server_->ca_pem())}};
  }
  bool WaitForHeld(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return held_.size() >= count; });
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    answering_ = true;
    for (auto& [request, responder] : held_) Allow(request, *responder);
    held_.clear();
  }
  static void Allow(const net::Request& request, net::Responder& responder) {
    const Json review = Json::parse(request.body);
    const Json answer{{"apiVersion", "admission.k8s.io/v1"},
                      {"kind", "AdmissionReview"},
                      {"response", {{"uid", review["request"]["uid"]}, {"allowed", true}}}};
    responder.Send({200, {{"Content-Type", "application/json"}}, answer.dump()});
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::pair<net::Request, std::shared_ptr<net::Responder>>> held_;
  bool answering_ = false;
  std::unique_ptr<net::HttpServer> hook_;
};

TEST_F(DeadWebhookTest, WritesThatWaitForAWebhookBlockNoOtherRequests) {
  constexpr int kWrites = 100;
  const Json hook{{"name", "hook.example.com"},
                  {"clientConfig", ClientConfig()},
                  {"sideEffects", "None"},
                  {"timeoutSeconds", 30},
                  {"admissionReviewVersions", {"v1"}},
                  {"rules", Json::array({{{"operations", {"CREATE"}},
                                          {"apiGroups", {""}},
                                          {"apiVersions", {"v1"}},
                                          {"resources", {"configmaps"}}}})}};
  ASSERT_EQ(Post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                 {{"metadata", {{"name", "hooks"}}}, {"webhooks", Json::array({hook})}})
                .status,
            201);
  net::ClientOptions options;
  options.base_url = server_->url();
  options.ca_pem = server_->ca_pem();
  options.bearer_token = server_->token();
  options.max_connections = kWrites;
  auto writer = net::HttpClient::Create(*io_, std::move(options));
  ASSERT_TRUE(writer);
  std::mutex mutex;
  std::condition_variable changed;
  int created = 0;
  for (int i = 0; i < kWrites; ++i) {
    net::Request request{"POST",
                         kMaps,
                         {{"Content-Type", "application/json"}},
                         ConfigMapJson("m" + std::to_string(i)).dump()};
    (*writer)->Send(std::move(request), std::chrono::seconds(60),
                    [&](const Result<net::Response>& answer) {
                      const std::lock_guard lock(mutex);
                      created += answer && answer->status == 201 ? 1 : 0;
                      changed.notify_all();
                    });
  }
  ASSERT_TRUE(WaitForHeld(48));  // the share of one user in 64 threads
  EXPECT_EQ(Get(kMaps).status, 200);
  const Json lease{{"metadata", {{"name", "l"}}}, {"spec", {{"holderIdentity", "me"}}}};
  Json whole = lease;
  whole["apiVersion"] = "coordination.k8s.io/v1";
  whole["kind"] = "Lease";
  EXPECT_EQ(Post(kLeases, whole).status, 201);
  EXPECT_EQ(
      Patch(std::string(kLeases) + "/l", "merge", {{"spec", {{"leaseTransitions", 1}}}}).status,
      200);
  Release();
  std::unique_lock lock(mutex);
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(30), [&] { return created == kWrites; }))
      << created;
}

TEST_F(DeadWebhookTest, WatchesThatWaitForConversionBlockNoOtherWatch) {
  Json crd = WidgetCrd();
  Json older = crd["spec"]["versions"][0];
  older["name"] = "v1beta1";
  older["storage"] = false;
  crd["spec"]["versions"].push_back(older);
  crd["spec"]["conversion"] = {
      {"strategy", "Webhook"},
      {"webhook", {{"conversionReviewVersions", {"v1"}}, {"clientConfig", ClientConfig()}}}};
  ASSERT_EQ(Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).status, 201);
  ASSERT_EQ(Post("/apis/example.com/v1/namespaces/default/widgets", WidgetJson("w", 1)).status,
            201);
  std::vector<std::unique_ptr<WatchReader>> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.push_back(Watch("/apis/example.com/v1beta1/namespaces/default/widgets?watch=true"));
  }
  ASSERT_TRUE(WaitForHeld(4));
  const std::string revision = Get(kMaps).json["metadata"]["resourceVersion"];
  const auto watch = Watch(std::string(kMaps) + "?watch=true&resourceVersion=" + revision);
  ASSERT_EQ(Post(kMaps, ConfigMapJson("a")).status, 201);
  const Json event = watch->Next();
  ASSERT_TRUE(event.is_object()) << "the watch waits for another kind's conversion";
  EXPECT_EQ(event["object"]["metadata"]["name"], "a");
}

class SlowReaderTest : public ServerTest {};

int CountOf(std::string_view word, std::string_view text) {
  int count = 0;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + word.size())) {
    ++count;
  }
  return count;
}

// 24 MB wait for a peer that reads nothing at first: far above a stream's backlog limit.
TEST_F(SlowReaderTest, SlowReaderReceivesALargeStateAtItsPace) {
  constexpr int kMapCount = 24;
  const std::string filler(1'000'000, 'x');
  for (int i = 0; i < kMapCount; ++i) {
    ASSERT_EQ(Post(kMaps, ConfigMapJson("m" + std::to_string(i), {{"k", filler}})).status, 201);
  }
  net::RawPeer slow = net::RawPeer::Connect(server_->port());
  net::RawTlsOptions tls;
  tls.ca_pem = server_->ca_pem();
  ASSERT_TRUE(slow.StartTlsAsClient(tls));
  slow.Send(std::string("GET ") + kMaps +
            "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            "&allowWatchBookmarks=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
            server_->token() + "\r\n\r\n");
  EXPECT_THAT(slow.ReadUntil("\r\n\r\n"), HasSubstr("200 OK"));
  // Meanwhile other requests are served, and changes follow the state.
  ASSERT_EQ(Post(kMaps, ConfigMapJson("late")).status, 201);
  const auto quick = Watch(std::string(kMaps) + "?watch=true");
  for (int i = 0; i < kMapCount; ++i) ASSERT_TRUE(quick->Next().is_object());
  std::string state;
  for (int i = 0; i < kMapCount; ++i) state += slow.ReadUntil("\"ADDED\"");
  state += slow.ReadUntil("k8s.io/initial-events-end");
  EXPECT_THAT(state, EndsWith("initial-events-end"));
  for (int i = 0; i < kMapCount; ++i) {
    EXPECT_EQ(CountOf("\"name\":\"m" + std::to_string(i) + "\"", state), 1) << i;
  }
  // The state is at least as new as the request: the server may read it when the last map is there.
  if (const int late = CountOf("\"late\"", state); late > 0) {
    EXPECT_EQ(late, 1);
  } else {
    EXPECT_THAT(slow.ReadUntil("\"late\""), HasSubstr("ADDED"));
  }
}

}  // namespace
}  // namespace berth::local
