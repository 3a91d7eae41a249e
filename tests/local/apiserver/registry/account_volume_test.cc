// Goal: pods get the volume with their token, and the pull secrets, of their ServiceAccount.
// Method: pods as JSON; the forms are those of kube-apiserver 1.36.
#include "local/apiserver/registry/account_volume.h"

#include <gtest/gtest.h>

namespace berth::local {
namespace {

Json Mounted(const char* account, const Json& spec) {
  Json pod = {{"spec", spec}};
  MountAccountToken(
      Json::parse(account), [] { return std::string("abcde"); }, pod);
  return pod["spec"];
}
Json Mounted(const char* account, const char* spec) { return Mounted(account, Json::parse(spec)); }

TEST(AccountVolumeTest, EveryContainerMountsTheTokenAtTheUsualPath) {
  const Json spec = Mounted("{}", R"({
    "volumes": [{"name": "own", "emptyDir": {}}], "initContainers": [{"name": "i"}],
    "containers": [{"name": "a", "volumeMounts": [{"name": "own", "mountPath": "/own"}]},
                   {"name": "b"}]})");
  EXPECT_EQ(spec, Json::parse(R"({
    "initContainers": [{"name": "i", "volumeMounts": [{"name": "kube-api-access-abcde",
      "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]}],
    "containers": [
      {"name": "a", "volumeMounts": [{"name": "own", "mountPath": "/own"},
        {"name": "kube-api-access-abcde", "readOnly": true,
         "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]},
      {"name": "b", "volumeMounts": [{"name": "kube-api-access-abcde", "readOnly": true,
         "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]}],
    "volumes": [{"name": "own", "emptyDir": {}},
      {"name": "kube-api-access-abcde", "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace",
          "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}]}}]})"));
}

TEST(AccountVolumeTest, PodFieldOutranksTheFieldOfTheAccount) {
  constexpr const char* kNo = R"({"automountServiceAccountToken": false})";
  constexpr const char* kYes = R"({"automountServiceAccountToken": true})";
  const auto is_mounted = [](const char* account, const char* wish) {
    Json spec = Json::parse(wish);
    spec["containers"] = Json::parse(R"([{"name": "a"}])");
    return Mounted(account, spec) != spec;
  };
  EXPECT_TRUE(is_mounted("{}", "{}"));
  EXPECT_FALSE(is_mounted(kNo, "{}"));
  EXPECT_FALSE(is_mounted(kYes, kNo));
  EXPECT_TRUE(is_mounted(kNo, kYes));
}

TEST(AccountVolumeTest, MountsOfThePodAtThePathStay) {
  const Json taken = Json::parse(R"({"containers": [{"name": "a", "volumeMounts": [
    {"name": "v", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]}]})");
  EXPECT_EQ(Mounted("{}", taken), taken);
  const Json known = Mounted("{}", R"({"containers": [{"name": "a"}],
    "volumes": [{"name": "kube-api-access-first", "emptyDir": {}}]})");
  EXPECT_EQ(known["volumes"].size(), 1U);
  EXPECT_EQ(known["containers"][0]["volumeMounts"][0]["name"], "kube-api-access-first");
}

TEST(AccountVolumeTest, PullSecretsOfThePodReplaceThoseOfTheAccount) {
  const Json account = Json::parse(R"({"imagePullSecrets": [{"name": "s"}]})");
  Json pod = Json::parse(R"({"spec": {}})");
  AddPullSecrets(Json::object(), pod);
  EXPECT_EQ(pod, Json::parse(R"({"spec": {}})"));
  AddPullSecrets(account, pod);
  EXPECT_EQ(pod["spec"]["imagePullSecrets"], account["imagePullSecrets"]);
  pod["spec"]["imagePullSecrets"][0]["name"] = "mine";
  AddPullSecrets(account, pod);
  EXPECT_EQ(pod["spec"]["imagePullSecrets"][0]["name"], "mine");
}

}  // namespace
}  // namespace berth::local
