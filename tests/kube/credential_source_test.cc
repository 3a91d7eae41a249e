// Goal: a plugin runs only when a credential is missing, ends soon or was refused; files are read
// again. Method: virtual time, and a plugin that the test plays.

#include "kube/client/credential_source.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/world/sim_executor.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CredentialSourceTest : public ::testing::Test {
 protected:
  static KubeConfig WithPlugin() {
    KubeConfig config;
    config.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1", .command = "p"};
    return config;
  }
  CredentialSource Make(const KubeConfig& config) {
    return {executor_, clock_, config,
            [this](const ExecPlugin&, const KubeConfig&,
                   std::function<void(Result<PluginCredential>)> done) {
              ++runs_;
              answer_ = std::move(done);
            }};
  }
  void Ask(CredentialSource& source) {
    source.Get([this](const Result<CredentialPtr>& got) {
      told_.push_back(got ? (*got)->token : std::string(ErrorCodeName(got.error().code)));
      if (got) last_ = *got;
    });
  }
  void Give(const std::string& token, std::optional<Duration> life = std::nullopt) {
    PluginCredential credential{.token = token};
    if (life) credential.expires = clock_.Now() + *life;
    answer_(credential);
    executor_.RunReady();
  }
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  int runs_ = 0;
  std::function<void(Result<PluginCredential>)> answer_;
  std::vector<std::string> told_;
  CredentialPtr last_;
};

TEST_F(CredentialSourceTest, OneRunServesAllWaitingRequests) {
  CredentialSource source = Make(WithPlugin());
  Ask(source);
  Ask(source);
  EXPECT_THAT(Told(), IsEmpty());
  Give("a");
  EXPECT_THAT(Told(), ElementsAre("a", "a"));
  executor_.RunFor(100h);
  Ask(source);
  EXPECT_THAT(Told(), ElementsAre("a")) << "without an end it is good until it is refused";
  EXPECT_EQ(runs_, 1);
}

TEST_F(CredentialSourceTest, CredentialIsRenewedBeforeItExpires) {
  CredentialSource source = Make(WithPlugin());
  Ask(source);
  Give("a", 10min);
  executor_.RunFor(8min);
  Ask(source);
  EXPECT_EQ(runs_, 1);
  executor_.RunFor(90s);
  Ask(source);
  EXPECT_THAT(Told(), ElementsAre("a", "a", "a")) << "nobody waits while the old one is good";
  EXPECT_EQ(runs_, 2);
  Give("b", 10min);
  Ask(source);
  EXPECT_THAT(Told(), ElementsAre("b"));
  executor_.RunFor(10min);
  Ask(source);
  EXPECT_THAT(Told(), IsEmpty()) << "the old one is over";
  Give("c", 10min);
  EXPECT_THAT(Told(), ElementsAre("c"));
}

TEST_F(CredentialSourceTest, RefusedCredentialIsRenewedAtMostOncePerInterval) {
  CredentialSource source = Make(WithPlugin());
  Ask(source);
  Give("a");
  EXPECT_FALSE(source.Refused(last_)) << "it is as new as can be";
  executor_.RunFor(11s);
  const CredentialPtr used = last_;
  EXPECT_TRUE(source.Refused(used));
  Told();
  Ask(source);
  EXPECT_THAT(Told(), IsEmpty());
  Give("b");
  EXPECT_THAT(Told(), ElementsAre("b"));
  EXPECT_TRUE(source.Refused(used)) << "there is a newer one already";
  EXPECT_EQ(runs_, 2);
}

TEST_F(CredentialSourceTest, FailureIsReportedAndNotRetriedAtOnce) {
  CredentialSource source = Make(WithPlugin());
  Ask(source);
  answer_(Error{ErrorCode::kNotFound, "not installed"});
  executor_.RunReady();
  Ask(source);
  EXPECT_THAT(Told(), ElementsAre("NotFound", "NotFound"));
  EXPECT_EQ(runs_, 1);
  executor_.RunFor(1s);
  Ask(source);
  Give("a");
  EXPECT_THAT(Told(), ElementsAre("a"));
}

TEST_F(CredentialSourceTest, ChangedFilesAreReadAgain) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "berth_credential_source";
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const char* text) {
    std::ofstream(folder / name) << text;
  };
  KubeConfig config;
  config.token_file = folder / "token";
  config.client_certificate_file = folder / "cert";
  config.client_key_file = folder / "key";
  config.ca_file = folder / "ca";
  for (const char* name : {"token", "cert", "key", "ca"}) write(name, "1");
  ASSERT_TRUE(ReadFilesAgain(config));
  CredentialSource source = Make(config);
  Ask(source);
  const CredentialPtr first = last_;
  executor_.RunFor(11s);
  Ask(source);
  EXPECT_EQ(last_, first) << "nothing has changed: connections may stay";
  for (const char* name : {"token", "cert", "key", "ca"}) write(name, "2");
  Ask(source);
  EXPECT_EQ(last_, first) << "not with every request";
  executor_.RunFor(11s);
  Ask(source);
  EXPECT_EQ(*last_, (Credential{"2", "2", "2", "2"}));
  std::filesystem::remove(folder / "key");
  executor_.RunFor(11s);
  Ask(source);
  EXPECT_EQ(*last_, (Credential{"2", "2", "2", "2"})) << "what is being replaced stays";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace berth::kube
