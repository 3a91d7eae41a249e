// Goal: APIServices tell the served group versions, certificate requests go through approval, and
// autoscalers have two versions, as clients of kube-apiserver expect.
// Method: requests over HTTPS.
#include <gmock/gmock.h>

#include "base/strings.h"
#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

constexpr const char* kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";
constexpr const char* kCertificateRequests =
    "/apis/certificates.k8s.io/v1/certificatesigningrequests";

class RegistrationsTest : public ServerTest {
 protected:
  Json Cells(const std::string& path) {
    return Get(path, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
        .json["rows"][0]["cells"];
  }
};

TEST_F(RegistrationsTest, EveryServedGroupVersionHasAnApiService) {
  // Writes become visible in their order, and the server does not wait for those of its start.
  ASSERT_EQ(Post(kMaps, ConfigMapJson("after")).status, 201);
  std::set<std::string> named;
  const Json services = Get(kApiServices).json["items"];
  for (const Json& service : services) named.insert(service["metadata"]["name"]);
  std::set<std::string> served = {"v1."};
  const Json groups = Get("/apis").json["groups"];
  for (const Json& group : groups) {
    for (const Json& version : group["versions"]) {
      served.insert(version["version"].get<std::string>() + "." + group["name"].get<std::string>());
    }
  }
  EXPECT_EQ(named, served);
  const Json core = Get(std::string(kApiServices) + "/v1.").json;
  EXPECT_EQ(core["spec"],
            (Json{{"version", "v1"}, {"groupPriorityMinimum", 18000}, {"versionPriority", 15}}));
  EXPECT_EQ(core["status"]["conditions"][0]["reason"], "Local");
  const Json cells = Cells(std::string(kApiServices) + "/v1.");
  EXPECT_EQ(cells[1], "Local");
  EXPECT_EQ(cells[2], "True");
}

TEST_F(RegistrationsTest, ApiServicesOfCustomKindsFollowTheirDefinitions) {
  const std::string path = std::string(kApiServices) + "/v1.example.com";
  EXPECT_EQ(Get(path).status, 404);
  ASSERT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  const auto watch = Watch(std::string(kApiServices) + "?watch=true");
  Json seen = watch->Next();
  while (!seen.is_null() && seen["object"]["metadata"]["name"] != "v1.example.com") {
    seen = watch->Next();
  }
  ASSERT_FALSE(seen.is_null());
  EXPECT_EQ(seen["object"]["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"],
            "true");
  ASSERT_EQ(Delete(std::string(kCrds) + "/widgets.example.com").status, 200);
  while (!seen.is_null() && seen["type"] != "DELETED") seen = watch->Next();
  EXPECT_EQ(seen["object"]["metadata"]["name"], "v1.example.com");
}

TEST_F(RegistrationsTest, ApiServicesOfExtensionsAreStoredAndValidated) {
  const Json service{{"namespace", "kube-system"}, {"name", "metrics"}};
  Json object{{"metadata", {{"name", "v1beta1.metrics.example.com"}}},
              {"spec",
               {{"group", "metrics.example.com"},
                {"version", "v1beta1"},
                {"service", service},
                {"groupPriorityMinimum", 100},
                {"versionPriority", 100}}}};
  ASSERT_EQ(Post(kApiServices, object).status, 201);
  const std::string path = std::string(kApiServices) + "/v1beta1.metrics.example.com";
  EXPECT_EQ(Cells(path)[1], "kube-system/metrics");
  EXPECT_EQ(Cells(path)[2], "Unknown");
  ASSERT_EQ(Post(kCrds, WidgetCrd()).status, 201);
  EXPECT_EQ(Get(path).status, 200);  // only registrations of custom kinds are taken away
  object["metadata"]["name"] = "other";
  object["spec"]["versionPriority"] = 0;
  EXPECT_THAT(Post(kApiServices, object).message(),
              HasSubstr("[metadata.name: Invalid value: \"other\": must be "
                        "`spec.version+\".\"+spec.group`: \"v1beta1.metrics.example.com\", "
                        "spec.versionPriority: Invalid value: 0: must be positive and less than "
                        "1000]"));
  object = {{"metadata", {{"name", "v1.local.example.com"}}},
            {"spec",
             {{"group", "local.example.com"},
              {"version", "v1"},
              {"caBundle", Base64Encode("abc")},
              {"groupPriorityMinimum", 100},
              {"versionPriority", 100}}}};
  EXPECT_THAT(Post(kApiServices, object).message(),
              HasSubstr("spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not "
                        "have a caBundle"));
}

Json CertificateRequest(const std::string& pem) {
  return {{"metadata", {{"name", "dev"}}},
          {"spec",
           {{"request", Base64Encode(pem)},
            {"signerName", "example.com/tests"},
            {"expirationSeconds", 3600},
            {"username", "somebody-else"},
            {"usages", {"client auth"}}}}};
}

TEST_F(RegistrationsTest, CertificateRequestsAreApprovedAndIssued) {
  const std::string path = std::string(kCertificateRequests) + "/dev";
  Json request = CertificateRequest("-----BEGIN CERTIFICATE REQUEST-----\nAA==\n");
  request["status"]["conditions"] = {{{"type", "Approved"}, {"status", "True"}}};
  ASSERT_EQ(Post(kCertificateRequests, request).status, 201);
  Json stored = Get(path).json;
  EXPECT_EQ(stored["spec"]["username"], "kubernetes-admin");
  EXPECT_FALSE(stored["status"].contains("conditions"));
  EXPECT_EQ(Cells(path)[5], "Pending");

  // The main endpoint changes metadata alone, and status keeps the decision.
  stored["spec"]["signerName"] = "example.com/other";
  stored["metadata"]["labels"] = {{"a", "b"}};
  stored = Put(path, stored).json;
  EXPECT_EQ(stored["spec"]["signerName"], "example.com/tests");
  EXPECT_EQ(stored["metadata"]["labels"]["a"], "b");
  const Json approved{{"type", "Approved"}, {"status", "True"}, {"reason", "Test"}};
  const auto conditions = [](const Json& list) { return Json{{"status", {{"conditions", list}}}}; };
  ASSERT_EQ(Patch(path + "/status", "merge", conditions(Json::array({approved}))).status, 200);
  EXPECT_EQ(Cells(path)[5], "Pending");
  ASSERT_EQ(Patch(path + "/approval", "merge", conditions(Json::array({approved}))).status, 200);
  EXPECT_EQ(Cells(path)[5], "Approved");
  const Json issued{{"status", {{"certificate", Base64Encode("PEM")}, {"conditions", nullptr}}}};
  ASSERT_EQ(Patch(path + "/status", "merge", issued).status, 200);
  EXPECT_EQ(Cells(path), Json::array({"dev", Cells(path)[1], "example.com/tests",
                                      "kubernetes-admin", "60m", "Approved,Issued"}));
  const Json denied{{"type", "Denied"}, {"status", "True"}};
  const Answer both =
      Patch(path + "/approval", "merge", conditions(Json::array({approved, denied})));
  EXPECT_THAT(both.message(), HasSubstr("Approved and Denied conditions are mutually exclusive"));
}

TEST_F(RegistrationsTest, CertificateRequestsAreChecked) {
  Json request = CertificateRequest("no request");
  request["spec"].erase("usages");
  request["spec"]["signerName"] = "tests";
  request["spec"]["expirationSeconds"] = 60;
  EXPECT_THAT(Post(kCertificateRequests, request).message(),
              HasSubstr("[spec.request: Invalid value: PEM block type must be CERTIFICATE REQUEST, "
                        "spec.usages: Required value, spec.signerName: Invalid value: \"tests\": "
                        "must be a fully qualified domain and path of the form "
                        "'example.com/signer-name', spec.expirationSeconds: Invalid value: 60: may "
                        "not specify a duration less than 600 seconds (10 minutes)]"));
  const std::string selected =
      std::string(kCertificateRequests) + "?fieldSelector=spec.signerName%3Da%2Fb";
  EXPECT_EQ(Get(selected).json["items"], Json::array());
}

TEST_F(RegistrationsTest, AutoscalersAreServedInTwoVersions) {
  const std::string v1 = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
  const std::string v2 = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
  const Json target{{"apiVersion", "apps/v1"}, {"kind", "Deployment"}, {"name", "web"}};
  const Answer created = Post(
      v1,
      {{"metadata", {{"name", "web"}}},
       {"spec",
        {{"scaleTargetRef", target}, {"maxReplicas", 3}, {"targetCPUUtilizationPercentage", 70}}}});
  ASSERT_EQ(created.status, 201) << created.text;
  EXPECT_EQ(created.json["spec"]["minReplicas"], 1);
  const Json stored = Get(v2 + "/web").json;
  EXPECT_EQ(stored["apiVersion"], "autoscaling/v2");
  EXPECT_EQ(stored["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 70);
  ASSERT_EQ(Patch(v2 + "/web", "merge", {{"spec", {{"maxReplicas", 9}}}}).status, 200);
  const Json changed = Put(v1 + "/web",
                           [&] {
                             Json object = Get(v1 + "/web").json;
                             object["spec"]["targetCPUUtilizationPercentage"] = 50;
                             return object;
                           }())
                           .json;
  EXPECT_EQ(changed["spec"]["maxReplicas"], 9);
  EXPECT_EQ(Get(v2 + "/web").json["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
            50);
  EXPECT_EQ(Get(v1).json["items"][0]["spec"]["targetCPUUtilizationPercentage"], 50);
  EXPECT_EQ(Get("/apis/autoscaling").json["preferredVersion"]["version"], "v2");
  ASSERT_EQ(Delete(v1 + "/web").status, 200);
  EXPECT_EQ(Get(v2 + "/web").status, 404);
}

TEST_F(RegistrationsTest, UnknownAndDuplicateFieldsAreReportedTogether) {
  const std::string text =
      R"({"metadata":{"name":"m"},"data":{"b":"1"},"zoo":1,"data":{"b":"1"},"ask":2})";
  EXPECT_THAT(Send("POST", std::string(kMaps) + "?fieldValidation=Strict", text).message(),
              HasSubstr("strict decoding error: unknown field \"zoo\", duplicate field \"data\", "
                        "unknown field \"ask\""));
}

}  // namespace
}  // namespace berth::local
