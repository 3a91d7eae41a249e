// Goal: a Secret for a ServiceAccount ends with the account. Method: virtual time on the embedded
// API in memory, which signs no tokens: their content is checked by e2e.sets.
#include "local/cluster/accounts/token_secret_controller.h"

#include <gtest/gtest.h>

#include "local/cluster/objects/resource_ids.h"
#include "scenarios/world/sim_executor.h"
#include "tests/local/support/test_api.h"

namespace berth::local::cluster {
namespace {

class TokenSecretTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cache_.Track(kServiceAccounts));
    ASSERT_TRUE(cache_.Track(kSecrets));
    secrets_.Start();
    ASSERT_TRUE(api_.Create(kServiceAccounts, "default", {{"metadata", {{"name", "robot"}}}}, {}));
    Json secret{{"metadata", {{"name", "s"}}}, {"type", "kubernetes.io/service-account-token"}};
    secret["metadata"]["annotations"]["kubernetes.io/service-account.name"] = "robot";
    ASSERT_TRUE(api_.Create(kSecrets, "default", secret, {}));
    Play();
  }
  void Play() { executor_.RunFor(std::chrono::seconds(2)); }
  Json Secret() {
    const auto found = api_.Get(kSecrets, "default", "s");
    return found ? **found : Json();
  }
  FakeClock clock_;
  SimExecutor executor_{clock_};
  test::TestApi api_{clock_, &executor_};
  ObjectCache cache_{api_, executor_};
  TokenSecretController secrets_{api_, cache_, executor_, clock_};
};

TEST_F(TokenSecretTest, SecretIsDeletedWithItsAccount) {
  ASSERT_TRUE(api_.Delete(kServiceAccounts, "default", "robot", {}));
  Play();
  EXPECT_TRUE(Secret().is_null());
}

}  // namespace
}  // namespace berth::local::cluster
