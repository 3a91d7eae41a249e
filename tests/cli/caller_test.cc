// Goal: a request to write becomes one patch of one object, or a clear refusal; what-if requests
// are bounded, and what they give to apply keeps every field of the queue; the credentials of the
// process are never those of a caller.
//
// Method: tables of bodies; a ClusterQueue as the API has it.
#include <future>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/system_clock.h"
#include "cli/caller_actions.h"
#include "cli/caller_screens.h"
#include "cli/caller_what_if.h"
#include "tests/cli/view_builder.h"

namespace berth::cli {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr char kRoot[] = "/apis/kueue.x-k8s.io/v1beta2/";

TEST(CallerActionTest, IsOnePatchOfOneObject) {
  struct ActionRow {
    const char* body;
    const char* path;
    const char* patch;
    const char* words;
  };
  const ActionRow rows[] = {
      {R"({"action":"stop","clusterQueue":"team"})", "clusterqueues/team",
       R"({"spec":{"stopPolicy":"Hold"}})", "ClusterQueue team: stopped, what runs goes on"},
      {R"({"action":"stop","localQueue":"a/q","drain":true})", "namespaces/a/localqueues/q",
       R"({"spec":{"stopPolicy":"HoldAndDrain"}})",
       "LocalQueue a/q: stopped, what runs is stopped, too"},
      {R"({"action":"resume","clusterQueue":"team"})", "clusterqueues/team",
       R"({"spec":{"stopPolicy":"None"}})", "ClusterQueue team: resumed"},
      {R"({"action":"priority","workload":"a/job-x","priority":-5})",
       "namespaces/a/workloads/job-x", R"({"spec":{"priority":-5}})",
       "Workload a/job-x: priority -5"},
      {R"({"action":"deactivate","workload":"a/job-x"})", "namespaces/a/workloads/job-x",
       R"({"spec":{"active":false}})", "Workload a/job-x: deactivated"},
      {R"({"action":"activate","workload":"a/job-x"})", "namespaces/a/workloads/job-x",
       R"({"spec":{"active":true}})", "Workload a/job-x: queued again"}};
  for (const ActionRow& row : rows) {
    const auto action = ParseAction(row.body);
    ASSERT_TRUE(action) << row.body << ": " << action.error().message;
    EXPECT_EQ(action->path, std::string(kRoot) + row.path);
    EXPECT_EQ(action->patch, Json::parse(row.patch));
    EXPECT_EQ(action->words, row.words);
  }
}

TEST(CallerActionTest, Refuses) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "send an object"},
      {"[]", "send an object"},
      {R"({"action":["stop"]})", "action: a text"},
      {R"({"action":"delete"})", "write stop, resume"},
      {R"({"action":"stop"})", "name one of"},
      {R"({"action":"stop","clusterQueue":"a","localQueue":"b/c"})", "name one of"},
      {R"({"action":"stop","clusterQueue":"../nodes/n"})", "the name of a ClusterQueue"},
      {R"({"action":"stop","clusterQueue":"a?dryRun=All"})", "the name of a ClusterQueue"},
      {R"({"action":"stop","clusterQueue":".."})", "the name of a ClusterQueue"},
      {R"({"action":"resume","clusterQueue":"a","drain":true})", "drain"},
      {R"({"action":"stop","localQueue":"q"})", "NAMESPACE/NAME"},
      {R"({"action":"deactivate","workload":"a/b/c"})", "NAMESPACE/NAME"},
      {R"({"action":"deactivate","workload":"a/b","force":true})", "a key is unknown"},
      {R"({"action":"priority","workload":"a/b"})", "32 bits"},
      {R"({"action":"priority","workload":"a/b","priority":2147483648})", "32 bits"},
      {R"({"action":"priority","workload":"a/b","priority":-2147483649})", "32 bits"},
      {R"({"action":"priority","workload":"a/b","priority":1.5})", "32 bits"}};
  for (const auto& [body, part] : rows) {
    const auto action = ParseAction(body);
    ASSERT_FALSE(action) << body;
    EXPECT_EQ(action.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(action.error().message, HasSubstr(part)) << body;
  }
}

TEST(CallerWhatIfTest, RequestsAreBounded) {
  EXPECT_EQ(ParseWhatIf(R"({"quota":["q/f/cpu=2"],"stop":["q"]})")->quota.front(), "q/f/cpu=2");
  Json many = {{"stop", Json::array()}};
  for (std::size_t i = 0; i <= kMostWhatIfChanges; ++i) many["stop"].push_back("q");
  const std::string bodies[] = {"",
                                "[]",
                                "{}",
                                R"({"quota":[]})",
                                R"({"quota":"q/f/cpu=2"})",
                                R"({"quota":[5]})",
                                R"({"files":["/etc/passwd"]})",
                                Json{{"stop", {std::string(2000, 'q')}}}.dump(),
                                many.dump()};
  for (const std::string& body : bodies) {
    const auto asked = ParseWhatIf(body);
    EXPECT_FALSE(asked) << body;
  }
}

TEST(CallerWhatIfTest, WhatIsAppliedKeepsEveryFieldOfTheSpec) {
  const Json queue = Json::parse(R"({
    "metadata": {"name": "q", "uid": "u", "resourceVersion": "5"},
    "spec": {"unknownToBerth": true, "resourceGroups": [{"coveredResources": ["cpu", "memory"],
      "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "4"},
                                              {"name": "memory", "nominalQuota": "1Gi"}]}]}]},
    "status": {"pendingWorkloads": 3}})");
  const auto yaml = ChangedQueueYaml(
      queue,
      {.quota = {"q/f/cpu=+2", "q/f/memory=3Gi", "other/f/cpu=1"}, .priority = {}, .stop = {}});
  ASSERT_TRUE(yaml) << yaml.error().message;
  Json wanted = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                 {"kind", "ClusterQueue"},
                 {"metadata", {{"name", "q"}}},
                 {"spec", queue.at("spec")}};
  Json& resources = wanted["spec"]["resourceGroups"][0]["flavors"][0]["resources"];
  resources[0]["nominalQuota"] = "6";
  resources[1]["nominalQuota"] = "3Gi";
  EXPECT_EQ(*yaml, api::FormatYaml(wanted));
  EXPECT_EQ(QueuesOf({.quota = {"q/f/cpu=1", "p/f/cpu=1", "q/f/x=2"}, .priority = {}, .stop = {}}),
            (std::vector<std::string>{"p", "q"}));
  EXPECT_FALSE(ChangedQueueYaml(queue, {.quota = {"q/g/cpu=1"}, .priority = {}, .stop = {}}));
}

// A forecast that nobody waits for any longer ends with a way out.
TEST(CallerWhatIfTest, ARunThatTakesTooLongEnds) {
  const ClusterView view = DwsView();
  int asked = 0;
  CallerWhatIfOptions options;
  options.is_late = [&asked] { return ++asked > 3; };
  const auto late =
      AnswerWhatIf({.quota = {}, .priority = {}, .stop = {"dws-cluster-queue"}}, view, options);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kTooManyRequests);
  EXPECT_THAT(late.error().message, HasSubstr("berth what-if"));
  EXPECT_LT(asked, 20) << "the draws go on";
  options.is_late = [] { return false; };
  EXPECT_TRUE(
      AnswerWhatIf({.quota = {}, .priority = {}, .stop = {"dws-cluster-queue"}}, view, options));
}

// Through the whole of a caller's request: nothing is asked of the API server, which does not
// exist.
TEST(CallerWhatIfTest, AClusterWithTooManyJobsIsRefused) {
  const SystemClock clock;
  CallerScreensOptions options;
  options.api.server = "https://127.0.0.1:1";
  CallerScreens screens(clock, std::move(options));
  const auto workload = std::make_shared<const api::Workload>(MakeWorkload("a", "w", "q", 60));
  MirrorObjects objects;
  objects.workloads.assign(kMostWhatIfJobs + 1, workload);
  std::promise<Result<std::string>> answer;
  screens.Ask({.kind = readapi::CallerRequest::Kind::kWhatIf, .body = R"({"stop":["q"]})"}, objects,
              [&answer](Result<std::string> text) { answer.set_value(std::move(text)); });
  const Result<std::string> refused = answer.get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 20000 Workloads"));
}

TEST(WithTokenTest, CallsHaveTheTokenAndNoOtherCredential) {
  kube::KubeConfig own;
  own.server = "https://api";
  own.ca_pem = "authority";
  own.client_certificate_pem = "certificate";
  own.client_key_pem = "key";
  own.bearer_token = "own";
  own.token_file = "/var/run/token";
  own.client_certificate_file = own.client_key_file = "/pki";
  own.exec = kube::ExecPlugin{.command = "plugin"};
  own.as.user = "somebody";
  const kube::KubeConfig config = WithToken(own, "of-the-caller");
  EXPECT_EQ(config.server, "https://api");
  EXPECT_EQ(config.ca_pem, "authority");
  EXPECT_EQ(config.bearer_token, "of-the-caller");
  EXPECT_TRUE(config.client_certificate_pem.empty() && config.client_key_pem.empty());
  EXPECT_TRUE(config.token_file.empty() && config.client_certificate_file.empty());
  EXPECT_TRUE(config.client_key_file.empty() && !config.exec && config.as.user.empty());
}

}  // namespace
}  // namespace berth::cli
