// Goal: the token in a projected volume of a running pod is replaced before it ends, and every
// Secret of a ServiceAccount has a token of its own, which is replaced, too. Method: virtual time
// on an API server without HTTP, which signs tokens; the programs of pods are played.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "local/apiserver/api_server.h"
#include "local/cluster/cluster.h"
#include "local/cluster/objects/fields.h"
#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/fake_runner.h"

namespace berth::local::cluster {
namespace {

namespace fs = std::filesystem;

constexpr char kWeek[] = "604800";  // the seconds of a week

class TokenLifeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-tokens-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ApiServerOptions server;
    server.serve_http = false;
    server.clock = &clock_;
    server.watch_executor = &executor_;
    server.seed = 1;
    auto started = ApiServer::Start(std::move(server));
    ASSERT_TRUE(started) << started.error().message;
    server_ = *std::move(started);
    ClusterOptions options;
    options.data_folder = folder_;
    options.programs = {{"sleep", "/bin/sleep"}};
    options.runner = &runner_;
    auto cluster = Cluster::Start(server_->api(), clock_, executor_, std::move(options));
    ASSERT_TRUE(cluster) << cluster.error().message;
    cluster_ = *std::move(cluster);
    const Json room = {{"cpu", "8"}, {"memory", "8Gi"}, {"pods", "110"}};
    Create(kNodes, "", "Node", "n1", {{"status", {{"allocatable", room}, {"capacity", room}}}});
    Run(std::chrono::seconds(1));
  }
  void TearDown() override {
    cluster_.reset();
    server_.reset();
    fs::remove_all(folder_);
  }

  void Run(Duration time) { executor_.RunFor(time); }
  void Create(const ResourceId& resource, const std::string& space, const char* kind,
              const std::string& name, Json object) {
    object["apiVersion"] = "v1";
    object["kind"] = kind;
    object["metadata"]["name"] = name;
    const auto created = server_->api().Create(resource, space, std::move(object), {});
    ASSERT_TRUE(created) << created.error().message;
  }
  Json Get(const ResourceId& resource, const std::string& name) {
    const auto found = server_->api().Get(resource, "default", name);
    return found ? **found : Json();
  }
  void CreatePod(const std::string& name, std::int64_t token_seconds) {
    const Json source{
        {"serviceAccountToken", {{"path", "token"}, {"expirationSeconds", token_seconds}}}};
    Json spec{{"volumes", {{{"name", "t"}, {"projected", {{"sources", {source}}}}}}}};
    spec["containers"].push_back({{"name", "c"},
                                  {"image", "sleep"},
                                  {"args", {kWeek}},
                                  {"volumeMounts", {{{"name", "t"}, {"mountPath", "/t"}}}}});
    Create(kPods, "default", "Pod", name, {{"spec", std::move(spec)}});
    Run(std::chrono::seconds(2));
    ASSERT_EQ(Get(kPods, name)["status"]["phase"], "Running") << Get(kPods, name).dump(1);
  }
  std::string TokenOf(const std::string& pod) {
    std::ifstream file(cluster_->folders().VolumesFolder(Get(kPods, pod)) + "/t/token");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // The claim of the token's end: seconds since the epoch.
  static std::int64_t EndOf(const std::string& token) {
    const auto parts = Split(token, '.');
    if (parts.size() != 3) return 0;
    std::string text(parts[1]);
    for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
    while (text.size() % 4 != 0) text.push_back('=');
    const auto decoded = Base64Decode(text);
    return decoded ? Json::parse(*decoded).value("exp", std::int64_t{0}) : 0;
  }
  std::int64_t Now() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clock_.Now().time_since_epoch())
        .count();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::FakeRunner runner_{executor_};
  std::string folder_;
  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<Cluster> cluster_;
};

TEST_F(TokenLifeTest, TokenOfARunningPodIsReplacedBeforeItExpires) {
  CreatePod("p", 600);
  const std::string first = TokenOf("p");
  EXPECT_NEAR(static_cast<double>(EndOf(first) - Now()), 600, 5);
  Run(std::chrono::seconds(450));
  EXPECT_EQ(TokenOf("p"), first);
  for (int renewal = 0; renewal < 5; ++renewal) {
    Run(std::chrono::seconds(500));
    EXPECT_GT(EndOf(TokenOf("p")), Now()) << "after renewal " << renewal;
  }
  EXPECT_NE(TokenOf("p"), first);
  EXPECT_EQ(runner_.spawned_count(), 1) << "the program runs on";
}

TEST_F(TokenLifeTest, ALongTokenIsReplacedOnceADay) {
  CreatePod("p", 30LL * 24 * 3600);
  const std::string first = TokenOf("p");
  Run(std::chrono::hours(23));
  EXPECT_EQ(TokenOf("p"), first);
  Run(std::chrono::hours(2));
  EXPECT_NE(TokenOf("p"), first);
}

TEST_F(TokenLifeTest, EachSecretOfAnAccountHasItsToken) {
  Create(kServiceAccounts, "default", "ServiceAccount", "robot", Json::object());
  for (const char* name : {"s1", "s2"}) {
    const Json annotations{{"kubernetes.io/service-account.name", "robot"}};
    Create(kSecrets, "default", "Secret", name,
           {{"type", "kubernetes.io/service-account-token"},
            {"metadata", {{"annotations", annotations}}}});
  }
  Run(std::chrono::seconds(2));
  const auto token = [this](const char* name) {
    return StringAt(Get(kSecrets, name), {"data", "token"});
  };
  const std::string first = token("s1");
  const std::string second = token("s2");
  EXPECT_FALSE(first.empty());
  EXPECT_FALSE(second.empty());
  EXPECT_NE(first, second);
  // One goes; the other one stays, and is replaced after half of its life.
  ASSERT_TRUE(server_->api().Delete(kSecrets, "default", "s1", {}));
  Run(std::chrono::seconds(2));
  EXPECT_TRUE(Get(kSecrets, "s1").is_null());
  EXPECT_EQ(token("s2"), second);
  Run(std::chrono::days(190));
  EXPECT_NE(token("s2"), second);
  ASSERT_TRUE(server_->api().Delete(kServiceAccounts, "default", "robot", {}));
  Run(std::chrono::seconds(2));
  EXPECT_TRUE(Get(kSecrets, "s2").is_null());
}

}  // namespace
}  // namespace berth::local::cluster
