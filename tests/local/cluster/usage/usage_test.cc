// Goal: usage is the mean between two readings, also where containers and processes come and go;
// the API group answers as metrics-server does. Method: readings by hand, whole answers.
#include <gtest/gtest.h>

#include "local/apiserver/http/target.h"
#include "local/cluster/usage/pod_usage.h"
#include "local/cluster/usage/usage_api.h"

namespace berth::local::cluster {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const WallTime kBegin{seconds(1'800'000'000)};

UsageReading ReadingAt(Duration after, std::map<int, Duration> times, WallTime started = kBegin) {
  UsageReading reading{.at = kBegin + after, .containers = {}};
  reading.containers[{"u", "c"}] = {started, std::move(times), 4096};
  return reading;
}

std::int64_t Nanocores(const UsageReading& before, const UsageReading& now) {
  return UsageBetween(before, now).at("u").by_container.at("c").nanocores;
}

TEST(UsageBetween, UsageIsTheMeanOfTheWindow) {
  const auto before = ReadingAt(seconds(10), {{7, seconds(3)}});
  const auto now = ReadingAt(seconds(20), {{7, seconds(8)}});
  const PodUsage wanted{seconds(10), {{"c", {500'000'000, 4096}}}};
  EXPECT_EQ(UsageBetween(before, now), (std::map<std::string, PodUsage>{{"u", wanted}}));
}

TEST(UsageBetween, CountsNewProcessesFromTheirStart) {
  const auto before = ReadingAt(seconds(10), {{7, seconds(3)}});
  EXPECT_EQ(Nanocores(before, ReadingAt(seconds(20), {{7, seconds(3)}, {8, seconds(1)}})),
            100'000'000);
  // Another process has the number of one that has ended.
  EXPECT_EQ(Nanocores(before, ReadingAt(seconds(20), {{7, seconds(2)}})), 200'000'000);
}

TEST(UsageBetween, NewContainerCountsFromItsStart) {
  const auto now = ReadingAt(seconds(20), {{7, seconds(1)}}, kBegin + seconds(16));
  EXPECT_EQ(Nanocores({}, now), 250'000'000);
  EXPECT_EQ(UsageBetween({}, now).at("u").window, seconds(4));
  // It ran before, too, and was started again.
  EXPECT_EQ(Nanocores(ReadingAt(seconds(10), {{7, milliseconds(1)}}), now), 250'000'000);
}

TEST(UsageBetween, ContainerThatStartsNowHasNoUsage) {
  const auto now = ReadingAt(seconds(20), {{7, Duration(0)}}, kBegin + seconds(20));
  EXPECT_EQ(Nanocores({}, now), 0);
}

Object Pod(const char* name, const char* uid, const char* node) {
  return std::make_shared<const Json>(
      Json{{"metadata",
            {{"name", name}, {"namespace", "ns"}, {"uid", uid}, {"labels", {{"app", name}}}}},
           {"spec", {{"nodeName", node}}}});
}

UsageView View() {
  UsageView view;
  view.pods = {Pod("a", "ua", "n1"), Pod("b", "ub", "n1"), Pod("waits", "uw", "")};
  view.nodes = {std::make_shared<const Json>(Json{{"metadata", {{"name", "n1"}}}})};
  view.usage_by_uid["ua"] = {milliseconds(15'062), {{"c", {1'500'000, 3 * 1024}}}};
  view.usage_by_uid["ub"] = {seconds(2), {{"c", {500'000, 1024}}, {"d", {1, 1025}}}};
  view.now = kBegin;
  return view;
}

net::Response Ask(const std::string& text) {
  const auto target = ParseTarget(text);
  return UsageAnswer(*target, *ParseApiPath(target->path), View());
}

TEST(UsageAnswer, AnswersTheUsageOfAPod) {
  const auto answer = Ask("/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods/a");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(Json::parse(answer.body), Json::parse(R"({
    "kind": "PodMetrics", "apiVersion": "metrics.k8s.io/v1beta1",
    "metadata": {"name": "a", "namespace": "ns", "labels": {"app": "a"},
                 "creationTimestamp": "2027-01-15T08:00:00Z"},
    "timestamp": "2027-01-15T08:00:00Z", "window": "15.062s",
    "containers": [{"name": "c", "usage": {"cpu": "1500000n", "memory": "3Ki"}}]})"));
}

TEST(UsageAnswer, UsageOfANodeIsTheSumOfItsPods) {
  const Json node = Json::parse(Ask("/apis/metrics.k8s.io/v1beta1/nodes/n1").body);
  EXPECT_EQ(node["usage"], Json::parse(R"({"cpu": "2000001n", "memory": "5Ki"})"));
  EXPECT_EQ(node["window"], "15.062s");
}

TEST(UsageAnswer, ListsSelectedRunningPods) {
  const auto names = [](const std::string& query) {
    Json found = Json::array();
    const Json list = Json::parse(Ask("/apis/metrics.k8s.io/v1beta1/pods" + query).body);
    for (const Json& item : list["items"]) found.push_back(item["metadata"]["name"]);
    return found;
  };
  EXPECT_EQ(names(""), Json::parse(R"(["a", "b"])"));
  EXPECT_EQ(names("?labelSelector=app%3Db"), Json::parse(R"(["b"])"));
  EXPECT_EQ(names("?fieldSelector=metadata.name!%3Db"), Json::parse(R"(["a"])"));
}

TEST(UsageAnswer, RefusesUnknownPaths) {
  struct Row {
    const char* path;
    int code;
  };
  for (const auto& [path, code] :
       {Row{"/v1beta1/namespaces/ns/pods/waits", 404}, Row{"/v1beta1/nodes/n2", 404},
        Row{"/v1beta1/namespaces/ns/nodes", 404}, Row{"/v1beta1/pods/a", 404},
        Row{"/v1beta1/namespaces/ns/pods/a/log", 404}, Row{"/v1/nodes", 404},
        Row{"/v1beta1/things", 404}, Row{"/v1beta1/pods?watch=true", 405},
        Row{"/v1beta1/pods?labelSelector=a%20b%20c", 400},
        Row{"/v1beta1/pods?fieldSelector=spec.nodeName%3Dn1", 400}}) {
    const auto answer = Ask(std::string("/apis/metrics.k8s.io") + path);
    EXPECT_EQ(answer.status, code) << path << ": " << answer.body;
    EXPECT_EQ(Json::parse(answer.body)["kind"], "Status") << path;
  }
}

}  // namespace
}  // namespace berth::local::cluster
