// Goal: a request to write becomes one patch of one object, or a clear refusal; what-if requests
// are bounded, and what they give to apply keeps every field of the queue; the credentials of the
// process are never those of a caller; many readers of the same cost one request.
//
// Method: tables of bodies; a ClusterQueue as the API has it; an API server that waits.
#include <future>
#include <mutex>
#include <optional>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "api/yaml/yaml.h"
#include "base/system_clock.h"
#include "net/io_pool.h"
#include "net/server.h"
#include "program/caller_actions.h"
#include "program/caller_screens.h"
#include "program/caller_what_if.h"
#include "tests/view/view_builder.h"

namespace berth::program {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr char kRoot[] = "/apis/kueue.x-k8s.io/v1beta2/";
constexpr char kCloudRoot[] = "/apis/cloud.berth.dev/v1alpha1/";

TEST(CallerActionTest, ActionIsOnePatchOfOneObject) {
  struct ActionRow {
    const char* body;
    const char* path;
    const char* patch;
    const char* words;
  };
  const ActionRow rows[] = {
      {R"({"action":"stop","clusterQueue":"team"})", "clusterqueues/team",
       R"({"spec":{"stopPolicy":"Hold"}})",
       "ClusterQueue team: stopped; running workloads continue"},
      {R"({"action":"stop","localQueue":"a/q","drain":true})", "namespaces/a/localqueues/q",
       R"({"spec":{"stopPolicy":"HoldAndDrain"}})",
       "LocalQueue a/q: stopped; running workloads are evicted"},
      {R"({"action":"resume","clusterQueue":"team"})", "clusterqueues/team",
       R"({"spec":{"stopPolicy":"None"}})", "ClusterQueue team: resumed"},
      {R"({"action":"priority","workload":"a/job-x","priority":-5})",
       "namespaces/a/workloads/job-x", R"({"spec":{"priority":-5}})",
       "Workload a/job-x: priority -5"},
      {R"({"action":"deactivate","workload":"a/job-x"})", "namespaces/a/workloads/job-x",
       R"({"spec":{"active":false}})", "Workload a/job-x: deactivated"},
      {R"({"action":"activate","workload":"a/job-x"})", "namespaces/a/workloads/job-x",
       R"({"spec":{"active":true}})", "Workload a/job-x: queued again"},
      {R"({"action":"stock","nodePool":"t4","stock":0})", "nodepools/t4", R"({"spec":{"stock":0}})",
       "NodePool t4: stock 0"},
      {R"({"action":"stock","nodePool":"t4","stock":null})", "nodepools/t4",
       R"({"spec":{"stock":null}})", "NodePool t4: stock unlimited"},
      {R"({"action":"stock","nodePool":"t4","zone":"us-a","stock":3})", "nodepools/t4",
       R"({"spec":{"stockByZone":{"us-a":3}}})", "NodePool t4, zone us-a: stock 3"},
      {R"({"action":"stock","nodePool":"t4","zone":"us-a","stock":null})", "nodepools/t4",
       R"({"spec":{"stockByZone":{"us-a":null}}})", "NodePool t4, zone us-a: stock unlimited"}};
  for (const ActionRow& row : rows) {
    const auto action = ParseAction(row.body);
    ASSERT_TRUE(action) << row.body << ": " << action.error().message;
    const bool is_pool = std::string_view(row.path).starts_with("nodepools/");
    EXPECT_EQ(action->path, std::string(is_pool ? kCloudRoot : kRoot) + row.path);
    EXPECT_EQ(action->patch, Json::parse(row.patch));
    EXPECT_EQ(action->words, row.words);
  }
}

TEST(CallerActionTest, AMalformedActionIsRefusedWithTheReason) {
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
      {R"({"action":"priority","workload":"a/b","priority":1.5})", "32 bits"},
      {R"({"action":"stock","nodePool":"../../nodes/n","stock":1})", "the name of a NodePool"},
      {R"({"action":"stock","nodePool":"t4"})", "stock: a whole number from 0 to 1000000"},
      {R"({"action":"stock","nodePool":"t4","stock":-1})", "stock: a whole number"},
      {R"({"action":"stock","nodePool":"t4","stock":1000001})", "stock: a whole number"},
      {R"({"action":"stock","nodePool":"t4","stock":1,"zone":""})", "the name of a zone"},
      {R"({"action":"stock","nodePool":"t4","stock":1,"zone":["a"]})", "zone: a text"},
      {R"({"action":"stock","nodePool":"t4","stock":1,"flavor":"a"})", "a key is unknown"}};
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

TEST(CallerWhatIfTest, ChangedQueueKeepsEveryFieldOfTheSpec) {
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
  const view::ClusterView view = view::DwsView();
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
  const auto workload =
      std::make_shared<const api::Workload>(view::MakeWorkload("a", "w", "q", 60));
  MirrorObjects objects;
  objects.workloads.assign(kMostWhatIfJobs + 1, workload);
  std::promise<Result<std::string>> answer;
  screens.Ask(
      {.kind = readapi::CallerRequest::Kind::kWhatIf, .body = R"({"stop":["q"]})"},
      [&objects] { return objects; },
      [&answer](Result<std::string> text) { answer.set_value(std::move(text)); });
  const Result<std::string> refused = answer.get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalid);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 20000 Workloads"));
}

TEST(CallerScreensTest, ForecastIsNotMadeForAClosedConnection) {
  const SystemClock clock;
  CallerScreensOptions options;
  options.api.server = "https://127.0.0.1:1";
  CallerScreens screens(clock, std::move(options));
  for (const bool has_left : {true, false}) {
    std::promise<Result<std::string>> answer;
    screens.Ask(
        {.kind = readapi::CallerRequest::Kind::kWhatIf, .body = R"({"stop":[]})"},
        [] { return MirrorObjects(); },
        [&answer](Result<std::string> text) { answer.set_value(std::move(text)); },
        [has_left] { return has_left; });
    const Result<std::string> refused = answer.get_future().get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message == "the client has left", has_left)
        << refused.error().message;
  }
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

// An API server that answers when it is told to.
class SlowApi {
 public:
  SlowApi() {
    auto server = net::HttpServer::Start(
        pool_, {},
        [this](const net::Request& request, const std::shared_ptr<net::Responder>& responder) {
          const std::lock_guard lock(mutex_);
          if (request.target.starts_with("/api/v1/nodes")) ++asked_;
          if (!refused_.empty() && request.target.starts_with(refused_)) {
            return responder->Send({.status = 403, .body = R"({"kind":"Status","code":403})"});
          }
          if (!is_open_) return held_.push_back(responder);
          Answer(*responder);
        });
    EXPECT_TRUE(server) << server.error().message;
    server_ = *std::move(server);
  }
  ~SlowApi() {
    server_->Stop();
    pool_.Stop();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }
  int asked_for_nodes() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  void Refuse(const std::string& path) {
    const std::lock_guard lock(mutex_);
    refused_ = path;
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    for (const auto& each : held_) Answer(*each);
    held_.clear();
  }

 private:
  static void Answer(net::Responder& responder) {
    net::Response response{.status = 200, .body = R"({"items":[]})"};
    response.headers.Add("Content-Type", "application/json");
    responder.Send(std::move(response));
  }

  net::IoPool pool_{1};
  std::mutex mutex_;
  bool is_open_ = false;
  std::string refused_;  // the begin of paths; empty: none
  int asked_ = 0;
  std::vector<std::shared_ptr<net::Responder>> held_;
  std::unique_ptr<net::HttpServer> server_;
};

TEST(CallerScreensTest, EqualRequestsShareOneAnswer) {
  SlowApi api;
  const SystemClock clock;
  CallerScreensOptions options;
  options.api.server = api.url();
  CallerScreens screens(clock, options);
  using Answer = Result<std::string>;
  int copies = 0;  // counts copies of the mirror's objects
  const auto ask = [&](const std::string& token) {
    auto made = std::make_shared<std::promise<Answer>>();
    screens.Ask(
        {.kind = readapi::CallerRequest::Kind::kTopology, .token = token},
        [&copies] { return ++copies, MirrorObjects(); },
        [made](Answer answer) { made->set_value(std::move(answer)); });
    return made->get_future();
  };
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 200; ++i) answers.push_back(ask("jane"));
  answers.push_back(ask("john"));
  api.Open();
  for (auto& each : answers) {
    const Answer answer = each.get();
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_THAT(*answer, HasSubstr("\"nodes\":[]"));
  }
  EXPECT_EQ(api.asked_for_nodes(), 2) << "one of each token";
  EXPECT_EQ(copies, 2) << "those who join cost no copy";
}

TEST(CallerScreensTest, CapacityTellsWhatNodesHaveToThoseWhoMayListThem) {
  for (const bool may_list : {true, false}) {
    SlowApi api;
    if (!may_list) api.Refuse("/api/v1/nodes");
    api.Open();
    const SystemClock clock;
    CallerScreensOptions options;
    options.api.server = api.url();
    CallerScreens screens(clock, options);
    MirrorObjects objects;
    objects.machines["nvidia.com/gpu"] = {.ready = 8, .all = 16};
    std::promise<Result<std::string>> made;
    screens.Ask(
        {.kind = readapi::CallerRequest::Kind::kCapacity, .token = "jane"},
        [&objects] { return objects; },
        [&made](Result<std::string> answer) { made.set_value(std::move(answer)); });
    const Result<std::string> answer = made.get_future().get();
    ASSERT_TRUE(answer) << answer.error().message;
    const Json screen = Json::parse(*answer);
    const Json gpus{{"resource", "nvidia.com/gpu"}, {"unit", "items"}, {"ready", 8}, {"all", 16}};
    EXPECT_EQ(screen.value("machines", Json()), may_list ? Json::array({gpus}) : Json());
    EXPECT_EQ(screen.at("hidden"), may_list ? Json::array() : Json::array({"nodes"}));
  }
}

// A node, and pods of two teams on it, of which the caller may name one.
MirrorObjects MirrorOfOneNode() {
  MirrorObjects objects;
  api::Node node;
  node.meta.name = "n1";
  node.allocatable = {{"nvidia.com/gpu", 8}};
  objects.nodes.push_back(std::make_shared<api::Node>(node));
  for (const auto& [space, gpus] : {std::pair("team-a", 6), {"team-b", 1}}) {
    api::Pod pod;
    pod.meta.namespace_name = space;
    pod.meta.name = "p";
    pod.spec.node_name = "n1";
    pod.spec.containers.push_back({.name = "c", .requests = {{"nvidia.com/gpu", gpus}}});
    objects.pods.push_back(std::make_shared<api::Pod>(pod));
  }
  objects.has_pods = true;
  return objects;
}

TEST(CallerScreensTest, TopologyHasTheMirrorsObjectsOfKindsThatTheCallerMayList) {
  struct Row {
    const char* refused;
    std::optional<int> used;  // nullopt: no answer
  };
  for (const Row& row : {Row{"none", 7}, Row{"/api/v1/pods", 6}, Row{"/api/v1/nodes", {}}}) {
    SlowApi api;
    api.Refuse(row.refused);
    api.Open();
    const SystemClock clock;
    CallerScreensOptions options;
    options.api.server = api.url();
    CallerScreens screens(clock, options);
    std::promise<Result<std::string>> made;
    screens.Ask({.kind = readapi::CallerRequest::Kind::kTopology,
                 .token = "jane",
                 .namespaces = {"team-a"}},
                MirrorOfOneNode,
                [&made](Result<std::string> answer) { made.set_value(std::move(answer)); });
    const Result<std::string> answer = made.get_future().get();
    ASSERT_EQ(answer.has_value(), row.used.has_value()) << row.refused;
    if (!answer) continue;
    const Json screen = Json::parse(*answer);
    EXPECT_EQ(screen.at("nodes").at(0).at("resources").at(0).at("used"), *row.used) << row.refused;
    EXPECT_EQ(screen.at("hidden").size(), *row.used == 7 ? 0U : 1U) << row.refused;
    EXPECT_THAT(*answer, Not(HasSubstr("team-b")));
  }
}

TEST(AsUserTest, CallsAreOnBehalfOfTheUser) {
  kube::KubeConfig own;
  own.server = "https://api";
  own.token_file = "/var/run/token";
  own.as = {.user = "somebody", .uid = "1", .groups = {"of-somebody"}, .extra = {{"a", {"b"}}}};
  const kube::KubeConfig config = AsUser(own, {.name = "jane", .groups = {"dev"}});
  EXPECT_EQ(config.server, "https://api");
  EXPECT_EQ(config.token_file, "/var/run/token");
  EXPECT_EQ(config.as.user, "jane");
  EXPECT_EQ(config.as.groups, std::vector<std::string>{"dev"});
  EXPECT_TRUE(config.as.uid.empty() && config.as.extra.empty());
}

}  // namespace
}  // namespace berth::program
