// Goal: a kubeconfig gives the right server and credentials, or a sentence that says why not.

#include "kube/client/kubeconfig.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using ::testing::HasSubstr;

constexpr char kConfig[] = R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: c
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Q0E=}
users:
- name: token
  user: {token: secret}
- name: certificate
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
contexts:
- name: one
  context: {cluster: c, user: token, namespace: team}
- name: two
  context: {cluster: c, user: certificate}
)";

TEST(KubeConfig, CurrentContextOrTheNamedOne) {
  const auto one = ParseKubeConfig(kConfig, "", "");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->server, "https://127.0.0.1:6443");
  EXPECT_EQ(one->ca_pem, "CA");
  EXPECT_EQ(one->bearer_token, "secret");
  EXPECT_EQ(one->namespace_name, "team");
  const auto two = ParseKubeConfig(kConfig, "", "two");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->client_certificate_pem, "CERT");
  EXPECT_EQ(two->client_key_pem, "KEY");
  EXPECT_EQ(two->namespace_name, "default");
}

TEST(KubeConfig, FilesAreRelativeToTheConfig) {
  const std::filesystem::path directory =
      std::filesystem::path(testing::TempDir()) / "berth_kubeconfig_test";
  std::filesystem::create_directories(directory);
  std::ofstream(directory / "ca.pem") << "PEM";
  std::ofstream(directory / "token") << "from-file\n";
  const auto config = ParseKubeConfig(R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://h", certificate-authority: ca.pem}}]
users: [{name: u, user: {tokenFile: token}}]
contexts: [{name: x, context: {cluster: c, user: u}}])",
                                      directory.string(), "");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ca_pem, "PEM");
  EXPECT_EQ(config->bearer_token, "from-file");
  std::filesystem::remove_all(directory);
}

struct Row {
  const char* name;
  const char* text;
  const char* message;
};

TEST(KubeConfig, WhatIsWrongIsSaid) {
  const std::string tail = "contexts: [{name: x, context: {cluster: c, user: u}}]\n";
  const std::vector<Row> rows = {
      {"NotYaml", "a: [", "yaml"},
      {"NotAMap", "- a", "YAML map"},
      {"Deep", "current-context: x\nx: &a [*a]", "contains itself"},
      {"NoContext", "clusters: []", "current-context is not set"},
      {"UnknownContext", "current-context: z", "contexts has no entry \"z\""},
      {"NoCluster", "current-context: x", "clusters has no entry \"c\""},
      {"NoServer", "current-context: x\nclusters: [{name: c, cluster: {a: b}}]", "no server"},
      {"Insecure",
       "current-context: x\n"
       "clusters: [{name: c, cluster: {server: s, insecure-skip-tls-verify: true}}]",
       "insecure-skip-tls-verify"},
      {"BadBase64",
       "current-context: x\n"
       "clusters: [{name: c, cluster: {server: s, certificate-authority-data: '%'}}]",
       "certificate-authority-data is not base64"},
      {"Exec",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {exec: {command: x}}}]",
       "exec is not supported"},
      {"HalfCertificate",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {client-key-data: S0VZ}}]",
       "must come together"},
  };
  for (const Row& row : rows) {
    const std::string text = std::string(row.text) + "\n" + tail;
    const auto config = ParseKubeConfig(text, "", "");
    ASSERT_FALSE(config) << row.name;
    if (std::string(row.name) == "NotYaml" || std::string(row.name) == "NotAMap") continue;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.name;
  }
}

TEST(KubeConfig, MissingFileIsNotFound) {
  const auto config = FindKubeConfig({.path = "/nonexistent/kubeconfig"});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::kube
