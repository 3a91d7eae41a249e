// Goal: one certificate for all replicas: made once, read by the others, renewed before its end.
#include "webhook/controller/serving_certificate.h"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "net/certificates.h"
#include "scenarios/world/sim_executor.h"
#include "tests/support/registry_transport.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr char kSecrets[] = "/api/v1/namespaces/kueue-system/secrets";

class ServingCertificateTest : public ::testing::Test {
 protected:
  ServingCertificate Obtain(const ServingCertificateOptions& options = {}) {
    std::optional<Result<ServingCertificate>> result;
    ObtainServingCertificate(client_, clock_, options, [&](Result<ServingCertificate> got) {
      result.emplace(std::move(got));
    });
    executor_.RunFor(5s);
    EXPECT_TRUE(result.has_value());
    EXPECT_TRUE(*result) << result->error().message;
    return **result;
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  kube::RegistryTransport api_{executor_, clock_};
  kube::ApiClient client_{api_, executor_};
};

TEST_F(ServingCertificateTest, IsCreatedOnceAndShared) {
  const ServingCertificate first = Obtain();
  EXPECT_FALSE(first.ca_pem.empty());
  const ServingCertificate second = Obtain();
  EXPECT_EQ(first.identity.private_key_pem, second.identity.private_key_pem);
  EXPECT_EQ(first.ca_pem, second.ca_pem);
  const Json secret = *api_.Find(std::string(kSecrets) + "/kueue-webhook-server-cert");
  EXPECT_TRUE(secret["data"].contains("tls.crt"));
}

TEST_F(ServingCertificateTest, ConflictOfTheCreationReadsTheStoredCertificate) {
  api_.FailNext(std::string("POST ") + kSecrets, 409, kube::RegistryTransport::Effect::kDone);
  const ServingCertificate first = Obtain();
  EXPECT_EQ(Obtain().ca_pem, first.ca_pem);
}

TEST_F(ServingCertificateTest, IsReplacedIfANameIsMissing) {
  ServingCertificateOptions webhook_alone;
  webhook_alone.dns_names.resize(2);
  const ServingCertificate first = Obtain(webhook_alone);
  EXPECT_EQ(Obtain(webhook_alone).ca_pem, first.ca_pem);
  const ServingCertificate second = Obtain();
  EXPECT_NE(second.identity.private_key_pem, first.identity.private_key_pem);
  EXPECT_NE(second.ca_pem.find(first.ca_pem), std::string::npos) << "the old CA stays trusted";
  EXPECT_EQ(Obtain().ca_pem, second.ca_pem);
}

TEST_F(ServingCertificateTest, IsStoredInTheControllersNamespace) {
  EXPECT_EQ(CertificateIn("kueue-system").dns_names, ServingCertificateOptions{}.dns_names);
  api_.Put("/api/v1/namespaces", {{"metadata", {{"name", "queues"}}}});
  const ServingCertificateOptions options = CertificateIn("queues");
  const ServingCertificate made = Obtain(options);
  EXPECT_NE(api_.Find("/api/v1/namespaces/queues/secrets/kueue-webhook-server-cert"), nullptr);
  EXPECT_THAT(*net::CertificateDnsNames(made.identity.certificate_chain_pem),
              ::testing::IsSupersetOf({"kueue-webhook-service.queues.svc",
                                       "kueue-webhook-service.kueue-system.svc",
                                       "kueue-controller-manager-metrics-service.queues.svc"}));
}

TEST_F(ServingCertificateTest, IsRenewedBeforeItsExpiryAndIfUnreadable) {
  const ServingCertificate first = Obtain();
  clock_.Advance(24h * 340);
  const ServingCertificate second = Obtain();
  EXPECT_NE(first.identity.private_key_pem, second.identity.private_key_pem);
  Json secret = *api_.Find(std::string(kSecrets) + "/kueue-webhook-server-cert");
  secret["data"]["tls.crt"] = "bm8gUEVN";
  api_.Put(kSecrets, secret);
  EXPECT_NE(Obtain().identity.private_key_pem, second.identity.private_key_pem);
}

}  // namespace
}  // namespace berth::webhook
