// Goal: a certificate is renewed while replicas run, and no replica ever serves one that the
// registrations do not trust. Method: two replicas on one API, more than a year of virtual
// time.
#include "webhook/controller/certificate_keeper.h"

#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "net/certificates.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"
#include "tests/webhook/controller/configurations.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kSecret[] = "/api/v1/namespaces/kueue-system/secrets/kueue-webhook-server-cert";

class CertificateKeeperTest : public ::testing::Test {
 protected:
  struct Replica {
    net::TlsIdentity serves;
    std::string ca;  // that `serves` was issued by
    int changes = 0;
    std::unique_ptr<CertificateKeeper> keeper;
  };

  void SetUp() override {
    const Json hooks = Json::parse(R"([{"name": "a.example.com", "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "n", "name": "s"}}}])");
    api_.Put(kMutating, {{"metadata", {{"name", kMutatingName}}}, {"webhooks", hooks}});
    api_.Put(kValidating, {{"metadata", {{"name", kValidatingName}}}, {"webhooks", hooks}});
  }

  static std::string FirstOf(const std::string& bundle) {
    constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
    return bundle.substr(0, bundle.find(kEnd) + kEnd.size());
  }

  void StartReplica(Replica& replica) {
    std::optional<ServingCertificate> got;
    ObtainServingCertificate(client_, clock_, {},
                             [&](Result<ServingCertificate> result) { got = *std::move(result); });
    ASSERT_TRUE(executor_.RunUntil([&] { return got.has_value(); }));
    replica.serves = got->identity;
    replica.ca = FirstOf(got->ca_pem);
    replica.keeper = std::make_unique<CertificateKeeper>(
        client_, clock_, CertificateKeeperOptions{.registrations = {.crds = {}}}, *got,
        [this, &replica](const net::TlsIdentity& identity) {
          replica.serves = identity;
          replica.ca = FirstOf(SecretData("ca.crt"));
          ++replica.changes;
        });
    replica.keeper->Start([](bool) {});
    executor_.RunFor(1s);
  }

  std::string SecretData(const char* key) {
    return *Base64Decode((*api_.Find(kSecret))["data"][key].get<std::string>());
  }
  std::string Bundle() {
    const Json hook = (*api_.Find(std::string(kMutating) + "/" + kMutatingName))["webhooks"][0];
    return *Base64Decode(hook["clientConfig"]["caBundle"].get<std::string>());
  }
  bool Trusts(const Replica& replica) { return Bundle().find(replica.ca) != std::string::npos; }
  bool IsGood(const Replica& replica) {
    return *net::CertificateEnd(replica.serves.certificate_chain_pem) > clock_.Now();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
  Replica one_;
  Replica two_;
};

TEST_F(CertificateKeeperTest, TwoReplicasAreTrustedThroughRenewals) {
  StartReplica(one_);
  StartReplica(two_);
  EXPECT_EQ(one_.serves.private_key_pem, two_.serves.private_key_pem);
  executor_.RunFor(24h);
  clock_.Advance(24h * 333);
  executor_.RunFor(1h);
  EXPECT_EQ(one_.changes + two_.changes, 0);
  for (int round = 1; round <= 3; ++round) {
    // Every step of the renewal.
    clock_.Advance(24h * 2);
    const SteadyTime end = clock_.SteadyNow() + 1h;
    while (clock_.SteadyNow() < end && executor_.RunOne()) {
      ASSERT_TRUE(Trusts(one_) && Trusts(two_)) << "round " << round;
    }
    EXPECT_EQ(one_.changes, round);
    EXPECT_EQ(two_.changes, round);
    EXPECT_EQ(one_.serves.private_key_pem, two_.serves.private_key_pem);
    EXPECT_TRUE(IsGood(one_));
    clock_.Advance(24h * 335);
  }
}

TEST_F(CertificateKeeperTest, IsNotServedUntilTheRegistrationsTrustIt) {
  StartReplica(one_);
  clock_.Advance(24h * 336);
  // More than the injector's passes of six minutes.
  for (int i = 0; i < 100; ++i) api_.FailNext("PATCH " + std::string(kMutating), 500);
  executor_.RunFor(6min);
  EXPECT_EQ(one_.changes, 0);
  EXPECT_TRUE(Trusts(one_));
  executor_.RunFor(30min);
  EXPECT_EQ(one_.changes, 1);
  EXPECT_TRUE(Trusts(one_));
}

TEST_F(CertificateKeeperTest, DeletedSecretIsCreatedAgainAndTheOldCaStaysTrusted) {
  StartReplica(one_);
  StartReplica(two_);
  const std::string old_ca = one_.ca;
  api_.Remove(kSecret);
  executor_.RunFor(20min);
  EXPECT_EQ(one_.changes, 1);
  EXPECT_EQ(two_.changes, 1);
  EXPECT_TRUE(Trusts(one_) && Trusts(two_));
  EXPECT_NE(Bundle().find(old_ca), std::string::npos);
}

TEST_F(CertificateKeeperTest, AnOlderBundleDoesNotReplaceANewerOne) {
  StartReplica(one_);
  StartReplica(two_);
  clock_.Advance(24h * 336);
  one_.keeper.reset();
  executor_.RunFor(6min);  // the second renews
  const std::string bundle = Bundle();
  CaInjector stale(client_, executor_, one_.ca, {.crds = {}});
  stale.Start([](bool) {});
  executor_.RunFor(1s);
  EXPECT_EQ(Bundle(), bundle);
}

}  // namespace
}  // namespace berth::webhook
