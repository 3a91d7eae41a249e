// Goal: a plugin gives a credential, or an error that names the fault of the plugin. Method: shell
// commands as plugins.

#include "kube/client/exec_plugin.h"

#include <future>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/rfc3339.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kV1[] = "client.authentication.k8s.io/v1";

ExecPlugin Shell(const std::string& command) {
  return {.api_version = kV1,
          .command = "sh",
          .args = {"-c", command},
          .interactive = ExecPlugin::Interactive::kNever};
}

std::string Printed(const std::string& status) {
  return R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":)" +
         status + "}";
}

Result<PluginCredential> RunIt(const ExecPlugin& plugin, const KubeConfig& config = {},
                               Duration timeout = 20s) {
  std::promise<Result<PluginCredential>> promise;
  PluginRunner runner(timeout);
  runner.Run(plugin, config,
             [&](Result<PluginCredential> result) { promise.set_value(std::move(result)); });
  return promise.get_future().get();
}

TEST(ExecPlugin, ReturnsATokenWithItsExpiration) {
  const auto got = RunIt(Shell(
      "echo '" + Printed(R"({"token":"t","expirationTimestamp":"2026-01-01T00:00:00Z"})") + "'"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->token, "t");
  ASSERT_TRUE(got->expires);
  EXPECT_EQ(FormatTime(*got->expires), "2026-01-01T00:00:00Z");
}

TEST(ExecPlugin, ReceivesItsVariablesAndTheClusterInfo) {
  ExecPlugin plugin =
      Shell(R"(printf '%s' "$KUBERNETES_EXEC_INFO" | grep -q '"server":"https://s"' &&
      echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"$V\",\"status\":{\"token\":\"$A-$(cat)\"}}")");
  plugin.env = {{"A", "a"}, {"V", kV1}};
  plugin.provide_cluster_info = true;
  KubeConfig config;
  config.server = "https://s";
  const auto got = RunIt(plugin, config);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->token, "a-") << "and its standard input is empty";
}

TEST(ExecPlugin, ReceivesTheClusterInfoOnlyOnRequest) {
  ExecPlugin plugin{.api_version = kV1, .cluster_config = R"({"audience":"x"})"};
  KubeConfig config;
  config.server = "https://s";
  config.server_name = "n";
  config.ca_pem = "CA";
  config.proxy_url = "http://p";
  EXPECT_EQ(Json::parse(ExecInfo(plugin, config, Terminal::kNone)),
            Json::parse(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",
                            "spec":{"interactive":false}})"));
  plugin.provide_cluster_info = true;
  EXPECT_EQ(Json::parse(ExecInfo(plugin, config, Terminal::kThere))["spec"], Json::parse(R"({
    "interactive": true,
    "cluster": {"server": "https://s", "tls-server-name": "n", "proxy-url": "http://p",
                "certificate-authority-data": "Q0E=", "config": {"audience": "x"}}})"));
}

TEST(ExecPlugin, FailedPluginsAreReportedWithTheReason) {
  ExecPlugin missing = Shell("");
  missing.command = "berth-no-such-plugin";
  missing.install_hint = "install it so";
  struct Row {
    ExecPlugin plugin;
    ErrorCode code;
    const char* message;
  };
  const std::vector<Row> rows = {
      {missing, ErrorCode::kNotFound, "install it so"},
      {Shell("exit 3"), ErrorCode::kUnavailable, "exit status 3"},
      {Shell("kill -9 $$"), ErrorCode::kUnavailable, "signal 9"},
      {Shell("echo hello"), ErrorCode::kInvalid, "not a JSON object"},
      {Shell("echo '{}'"), ErrorCode::kInvalid, "kind is not ExecCredential"},
      {Shell("yes"), ErrorCode::kInvalid, "more than 1 MiB"},
      {Shell("echo '" + Printed("{}") + "'"), ErrorCode::kInvalid, "neither a token nor"},
      {Shell("echo '" + Printed(R"({"clientKeyData":"k"})") + "'"), ErrorCode::kInvalid,
       "must come together"},
      {Shell("echo '" + Printed(R"({"token":"t","expirationTimestamp":"soon"})") + "'"),
       ErrorCode::kInvalid, "no RFC 3339 time"},
      {Shell(R"(echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",
                       "status":{"token":"t"}}')"),
       ErrorCode::kInvalid, "apiVersion is"},
  };
  for (const Row& row : rows) {
    const auto got = RunIt(row.plugin);
    ASSERT_FALSE(got) << row.message;
    EXPECT_EQ(got.error().code, row.code) << row.message;
    EXPECT_THAT(got.error().message, HasSubstr(row.message));
  }
}

TEST(ExecPlugin, HangingPluginIsKilledAtTheTimeout) {
  const auto got = RunIt(Shell("sleep 1000 & sleep 1000"), {}, 100ms);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(got.error().message, HasSubstr("within 100 ms"));
}

TEST(ExecPlugin, DestructorEndsARunningPlugin) {
  std::promise<Result<PluginCredential>> promise;
  auto runner = std::make_unique<PluginRunner>(1h);
  runner->Run(Shell("sleep 1000"), {},
              [&](Result<PluginCredential> result) { promise.set_value(std::move(result)); });
  runner.reset();
  EXPECT_FALSE(promise.get_future().get());
}

}  // namespace
}  // namespace berth::kube
