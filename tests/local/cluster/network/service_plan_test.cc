// Goal: a Service leads to its ready pods, under all its names.
// Method: rows of a Service and pods against Endpoints, slices, routes and names, whole.
#include "local/cluster/network/service_plan.h"

#include <map>

#include <gmock/gmock.h>

#include "local/cluster/objects/fields.h"

namespace berth::local::cluster {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Json DbService(const Json& spec = Json::object()) {
  Json service = Json::parse(R"({"apiVersion": "v1", "kind": "Service",
      "metadata": {"name": "db", "namespace": "team", "uid": "s"},
      "spec": {"type": "ClusterIP", "clusterIP": "127.9.128.1", "selector": {"app": "db"},
               "ports": [{"name": "sql", "port": 5432, "targetPort": "sql", "protocol": "TCP"},
                         {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}]}})");
  service["spec"].merge_patch(spec);
  return service;
}

Object DbPod(const std::string& name, const std::string& address,
             const Json& more = Json::object()) {
  Json pod = Json::parse(R"({"metadata": {"namespace": "team", "labels": {"app": "db"}},
      "spec": {"nodeName": "n1", "containers": [
          {"name": "c", "ports": [{"name": "sql", "containerPort": 6432}]}]},
      "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})");
  pod["metadata"]["name"] = name;
  pod["metadata"]["uid"] = "u-" + name;
  pod["status"]["podIP"] = address;
  pod.merge_patch(more);
  return std::make_shared<const Json>(std::move(pod));
}

const Json kNotReady{
    {"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", "False"}}})}}}};

std::vector<std::string> IpsOf(const Json& subset, const char* member) {
  std::vector<std::string> ips;
  for (const Json& one : ArrayAt(subset, {member})) ips.push_back(StringAt(one, {"ip"}));
  return ips;
}

TEST(ServicePlanTest, OnlySelectedLivePodsAreEndpoints) {
  const Json ended{{"status", {{"phase", "Succeeded"}}}};
  const Json other{{"metadata", {{"labels", {{"app", "web"}}}}}};
  const Json leaving{{"metadata", {{"deletionTimestamp", "2026-11-22T10:00:00Z"}}}};
  const Json subsets =
      PlanEndpoints(DbService(), {DbPod("a", "127.9.0.1"), DbPod("b", "127.9.0.2", kNotReady),
                                  DbPod("c", "127.9.0.3", ended), DbPod("d", "127.9.0.4", other),
                                  DbPod("e", "127.9.0.5", leaving), DbPod("f", "")});
  ASSERT_EQ(subsets.size(), 1U);
  EXPECT_THAT(IpsOf(subsets[0], "addresses"), ElementsAre("127.9.0.1"));
  EXPECT_THAT(IpsOf(subsets[0], "notReadyAddresses"), ElementsAre("127.9.0.2", "127.9.0.5"));
  EXPECT_EQ(subsets[0]["ports"], Json::parse(R"([
      {"name": "sql", "port": 6432, "protocol": "TCP"},
      {"name": "http", "port": 8080, "protocol": "TCP"}])"));
  EXPECT_EQ(subsets[0]["addresses"][0]["targetRef"]["name"], "a");
}

TEST(ServicePlanTest, RoutesLeadToReadyPodsOfAllPortSets) {
  const Json other_port{{"spec", {{"containers", Json::parse(R"([{"name": "c", "ports": [
                             {"name": "sql", "containerPort": 7777}]}])")}}}};
  const Json subsets =
      PlanEndpoints(DbService(), {DbPod("a", "127.9.0.1"), DbPod("b", "127.9.0.2", other_port),
                                  DbPod("c", "127.9.0.3", kNotReady)});
  EXPECT_THAT(
      RoutesOf(DbService(), subsets),
      ElementsAre(ServiceRoute{"127.9.128.1", 5432, {{"127.9.0.1", 6432}, {"127.9.0.2", 7777}}},
                  ServiceRoute{"127.9.128.1", 80, {{"127.9.0.1", 8080}, {"127.9.0.2", 8080}}}));
  EXPECT_EQ(PlanSlices(DbService(), subsets).size(), 2U);
  EXPECT_THAT(RoutesOf(DbService(), Json::array()), IsEmpty());
  EXPECT_THAT(RoutesOf(DbService({{"clusterIP", "None"}}), subsets), IsEmpty());
}

TEST(ServicePlanTest, PublishesPodsThatAreNotReadyOnDemand) {
  const Json subsets = PlanEndpoints(DbService({{"publishNotReadyAddresses", true}}),
                                     {DbPod("a", "127.9.0.1", kNotReady)});
  EXPECT_THAT(IpsOf(subsets[0], "addresses"), ElementsAre("127.9.0.1"));
}

TEST(ServicePlanTest, ServicesAndHeadlessPodsHaveTheirNames) {
  EXPECT_THAT(NamesOf(DbService(), Json::array()),
              ElementsAre(HostsLine{
                  "127.9.128.1", {"db.team.svc.cluster.local", "db.team.svc", "db.team"}, {"db"}}));
  const Json headless = DbService({{"clusterIP", "None"}});
  const Json named{{"spec", {{"hostname", "db-0"}, {"subdomain", "db"}}}};
  const Json subsets =
      PlanEndpoints(headless, {DbPod("a", "127.9.0.1"), DbPod("b", "127.9.0.2", named)});
  EXPECT_THAT(
      NamesOf(headless, subsets),
      ElementsAre(
          HostsLine{"127.9.0.1", {"db.team.svc.cluster.local", "db.team.svc", "db.team"}, {"db"}},
          HostsLine{"127.9.0.2",
                    {"db.team.svc.cluster.local", "db.team.svc", "db.team",
                     "db-0.db.team.svc.cluster.local", "db-0.db.team.svc", "db-0.db.team"},
                    {"db", "db-0.db"}}));
}

TEST(ServicePlanTest, EnvironmentNamesTheServices) {
  Json service = DbService();
  service["spec"]["ports"] = Json::parse(R"([{"name": "my-sql", "port": 5432}])");
  service["metadata"]["name"] = "my-db";
  const auto links = LinksTo({std::make_shared<const Json>(service),
                              std::make_shared<const Json>(DbService({{"clusterIP", "None"}}))});
  const std::map<std::string, std::string> expected{
      {"MY_DB_SERVICE_HOST", "127.9.128.1"},
      {"MY_DB_SERVICE_PORT", "5432"},
      {"MY_DB_SERVICE_PORT_MY_SQL", "5432"},
      {"MY_DB_PORT", "tcp://127.9.128.1:5432"},
      {"MY_DB_PORT_5432_TCP", "tcp://127.9.128.1:5432"},
      {"MY_DB_PORT_5432_TCP_PROTO", "tcp"},
      {"MY_DB_PORT_5432_TCP_PORT", "5432"},
      {"MY_DB_PORT_5432_TCP_ADDR", "127.9.128.1"}};
  EXPECT_EQ((std::map<std::string, std::string>(links.begin(), links.end())), expected);
}

TEST(ServicePlanTest, PodsOfJobsUseThePodNetworkOnDemand) {
  Json pod = {{"metadata", Json::object()},
              {"spec", {{"containers", Json::array({{{"name", "c"}}})}}}};
  EXPECT_TRUE(UsesPodNetwork(pod, false)) << "a pod of its own";
  pod["metadata"]["ownerReferences"] = Json::array({{{"kind", "Job"}, {"controller", true}}});
  EXPECT_FALSE(UsesPodNetwork(pod, false));
  EXPECT_TRUE(UsesPodNetwork(pod, true)) << "there are Services";
  pod["spec"]["containers"][0]["ports"] = Json::array({{{"containerPort", 80}}});
  EXPECT_TRUE(UsesPodNetwork(pod, false));
  pod["spec"]["hostNetwork"] = true;
  EXPECT_FALSE(UsesPodNetwork(pod, true));
}

}  // namespace
}  // namespace berth::local::cluster
