// Goal: a kubeconfig gives the right server and credentials, or an error with the reason.

#include "kube/client/kubeconfig.h"

#include <cstdlib>
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

TEST(KubeConfig, ReadsTheCurrentOrTheNamedContext) {
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

struct KubeconfigRow {
  const char* name;
  const char* text;
  const char* message;
};

TEST(KubeConfig, WrongConfigsAreRefusedWithTheReason) {
  const std::string tail = "contexts: [{name: x, context: {cluster: c, user: u}}]\n";
  const std::vector<KubeconfigRow> rows = {
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
       "exec.apiVersion is"},
      {"ExecMode",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "
       "x}}}]",
       "exec.interactiveMode"},
      {"AuthProvider",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {auth-provider: {name: gcp}}}]",
       "auth-provider is not supported"},
      {"AsGroupsAlone",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {as-groups: [g]}}]",
       "need a user in \"as\""},
      {"NoTokenFile",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {tokenFile: /nonexistent/token}}]",
       "tokenFile"},
      {"HalfCertificate",
       "current-context: x\nclusters: [{name: c, cluster: {server: s}}]\n"
       "users: [{name: u, user: {client-key-data: S0VZ}}]",
       "must come together"},
  };
  for (const KubeconfigRow& row : rows) {
    const std::string text = std::string(row.text) + "\n" + tail;
    const auto config = ParseKubeConfig(text, "", "");
    ASSERT_FALSE(config) << row.name;
    if (std::string(row.name) == "NotYaml" || std::string(row.name) == "NotAMap") continue;
    EXPECT_THAT(config.error().message, HasSubstr(row.message)) << row.name;
  }
}

TEST(KubeConfig, PluginProxyAndImpersonationAreRead) {
  const auto config = ParseKubeConfig(R"(
current-context: x
clusters:
- name: c
  cluster:
    server: https://h
    proxy-url: http://proxy:3128
    extensions:
    - name: client.authentication.k8s.io/exec
      extension: {audience: a}
users:
- name: u
  user:
    as: jane
    as-uid: "7"
    as-groups: [a, b]
    as-user-extra: {reason: [r]}
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      command: ./plugin
      args: [get-token, "--x"]
      env: [{name: NAME, value: V}]
      provideClusterInfo: true
      installHint: fetch it
contexts: [{name: x, context: {cluster: c, user: u}}])",
                                      "/folder", "");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->proxy_url, "http://proxy:3128");
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->command, "/folder/./plugin");
  EXPECT_THAT(config->exec->args, testing::ElementsAre("get-token", "--x"));
  EXPECT_THAT(config->exec->env, testing::ElementsAre(testing::Pair("NAME", "V")));
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->install_hint, "fetch it");
  EXPECT_EQ(config->exec->cluster_config, R"({"audience":"a"})");
  EXPECT_EQ(config->exec->interactive, ExecPlugin::Interactive::kIfAvailable);
  EXPECT_EQ(config->as.user, "jane");
  EXPECT_EQ(config->as.uid, "7");
  EXPECT_THAT(config->as.groups, testing::ElementsAre("a", "b"));
  EXPECT_THAT(config->as.extra.at("reason"), testing::ElementsAre("r"));
}

// kubectl does the same: the first file with an entry of a name wins.
TEST(KubeConfig, FilesOfTheKubeconfigVariableAreMerged) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "berth_kubeconfig_merge";
  std::filesystem::create_directories(folder / "two");
  std::ofstream(folder / "one.yaml") << R"(
contexts: [{name: x, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: first}}])";
  std::ofstream(folder / "two" / "token") << "second";
  std::ofstream(folder / "two" / "two.yaml") << R"(
current-context: x
clusters: [{name: c, cluster: {server: "https://two"}}]
contexts: [{name: other, context: {cluster: c, user: v}}]
users: [{name: u, user: {token: other}}, {name: v, user: {tokenFile: token}}])";
  std::ofstream(folder / "three.yaml") << "current-context: other\n";
  std::ofstream(folder / "empty.yaml") << "";
  const std::string listed =
      (folder / "none.yaml").string() + ":" + (folder / "empty.yaml").string() + ":" +
      (folder / "one.yaml").string() + ":" + (folder / "two" / "two.yaml").string() + ":" +
      (folder / "three.yaml").string();
  setenv("KUBECONFIG", listed.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
  const auto x = FindKubeConfig({});
  const auto y = FindKubeConfig({.context = "other"});
  const auto z = FindKubeConfig({.context = "z"});
  unsetenv("KUBECONFIG");  // NOLINT(concurrency-mt-unsafe): one thread
  ASSERT_TRUE(x) << x.error().message;
  EXPECT_EQ(x->context, "x");
  EXPECT_EQ(x->server, "https://two");
  EXPECT_EQ(x->bearer_token, "first");
  ASSERT_TRUE(y) << y.error().message;
  EXPECT_EQ(y->bearer_token, "second") << "paths are relative to the file that has them";
  ASSERT_FALSE(z);
  EXPECT_THAT(z.error().message, HasSubstr("one.yaml"));
  std::filesystem::remove_all(folder);
}

TEST(KubeConfig, MissingFileIsNotFound) {
  const auto config = FindKubeConfig({.path = "/nonexistent/kubeconfig"});
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::kube
