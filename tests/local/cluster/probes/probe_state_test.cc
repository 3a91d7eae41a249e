// Goal: thresholds decide, as in kubelet. Method: rows of results against verdicts.
#include "local/cluster/probes/probe_state.h"

#include <gtest/gtest.h>

namespace berth::local::cluster {
namespace {

struct ProbeRow {
  const char* name;
  ProbeKind kind;
  Json spec;
  const char* results;   // + success, - failure
  const char* verdicts;  // after each: + or - a new one, . none
};

TEST(ProbeStateTest, ThresholdsDecideTheProbeState) {
  const Json plain = Json::object();
  for (const ProbeRow& row : std::vector<ProbeRow>{
           {"ready at once, unready after three", ProbeKind::kReadiness, plain, "-+--+---+",
            ".+.....-+"},
           {"two successes", ProbeKind::kReadiness, {{"successThreshold", 2}}, "+-++", "...+"},
           {"alive from the start", ProbeKind::kLiveness, plain, "++--+---", ".......-"},
           {"one failure", ProbeKind::kLiveness, {{"failureThreshold", 1}}, "+-", ".-"},
           {"started late", ProbeKind::kStartup, {{"failureThreshold", 5}}, "----+", "....+"},
           {"never started", ProbeKind::kStartup, {{"failureThreshold", 2}}, "--", ".-"},
       }) {
    ProbeState state(row.kind, row.spec);
    std::string verdicts;
    for (const char result : std::string(row.results)) {
      const auto verdict = state.Note(result == '+');
      verdicts += !verdict ? '.' : *verdict ? '+' : '-';
    }
    EXPECT_EQ(verdicts, row.verdicts) << row.name;
  }
}

TEST(ProbeStateTest, ReadsHandlersAndPortsByName) {
  const Json container =
      Json::parse(R"({"name": "c", "ports": [{"name": "web", "containerPort": 81}],
      "startupProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1},
      "readinessProbe": {"httpGet": {"port": "web", "path": "health"}, "timeoutSeconds": 3},
      "livenessProbe": {"tcpSocket": {"port": 82}, "initialDelaySeconds": 9}})");
  const auto probes = ProbesOf(container, "127.9.0.1");
  ASSERT_EQ(probes.size(), 3U);
  EXPECT_EQ(probes[0].target.command, std::vector<std::string>{"true"});
  EXPECT_EQ(probes[0].state.period(), std::chrono::seconds(1));
  EXPECT_EQ(probes[1].target.how, ProbeTarget::How::kHttp);
  EXPECT_EQ(probes[1].target.host, "127.9.0.1");
  EXPECT_EQ(probes[1].target.port, 81);
  EXPECT_EQ(probes[1].target.path, "/health");
  EXPECT_EQ(probes[1].state.timeout(), std::chrono::seconds(3));
  EXPECT_EQ(probes[2].target.how, ProbeTarget::How::kTcp);
  EXPECT_EQ(probes[2].target.port, 82);
  EXPECT_EQ(probes[2].state.initial_delay(), std::chrono::seconds(9));
  EXPECT_TRUE(ProbesOf(Json::object(), "127.9.0.1").empty());
}

}  // namespace
}  // namespace berth::local::cluster
