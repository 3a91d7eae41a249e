// Goal: watches deliver every change once and in order, with selectors, bookmarks and expiry.
#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"

namespace berth::local {
namespace {

class WatchTest : public ServerTest {
 protected:
  std::string Revision() { return Get(kMaps).json["metadata"]["resourceVersion"]; }
};

std::string Shown(const Json& event) {
  if (!event.is_object()) return "nothing";
  return event["type"].get<std::string>() + " " +
         event["object"]["metadata"].value("name", std::string());
}

TEST_F(WatchTest, WatchReportsChangesAfterARevision) {
  const auto watch = Watch(std::string(kMaps) + "?watch=true&resourceVersion=" + Revision());
  const Json created = Post(kMaps, ConfigMapJson("a", {{"k", "1"}})).json;
  Put(std::string(kMaps) + "/a", ConfigMapJson("a", {{"k", "2"}}));
  const Json before = Get(std::string(kMaps) + "/a").json;
  Delete(std::string(kMaps) + "/a");
  const Json added = watch->Next();
  EXPECT_EQ(Shown(added), "ADDED a");
  EXPECT_EQ(added["object"], created);
  EXPECT_EQ(added["object"]["kind"], "ConfigMap");
  EXPECT_EQ(Shown(watch->Next()), "MODIFIED a");
  const Json deleted = watch->Next();
  EXPECT_EQ(Shown(deleted), "DELETED a");
  EXPECT_EQ(deleted["object"]["data"]["k"], "2");
  EXPECT_GT(std::stol(deleted["object"]["metadata"]["resourceVersion"].get<std::string>()),
            std::stol(before["metadata"]["resourceVersion"].get<std::string>()));
}

TEST_F(WatchTest, WatchWithoutARevisionBeginsWithTheState) {
  Post(kMaps, ConfigMapJson("a"));
  const auto watch = Watch(std::string(kMaps) + "?watch=true");
  EXPECT_EQ(Shown(watch->Next()), "ADDED a");
  EXPECT_EQ(Shown(watch->Next()), "ADDED kube-root-ca.crt");
  Post(kMaps, ConfigMapJson("b"));
  EXPECT_EQ(Shown(watch->Next()), "ADDED b");
}

TEST_F(WatchTest, InitialEventsEndWithABookmark) {
  const auto watch = Watch(std::string(kMaps) +
                           "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                           "&allowWatchBookmarks=true");
  EXPECT_EQ(Shown(watch->Next()), "ADDED kube-root-ca.crt");
  const Json bookmark = watch->Next();
  EXPECT_EQ(bookmark["type"], "BOOKMARK");
  EXPECT_EQ(bookmark["object"]["kind"], "ConfigMap");
  EXPECT_EQ(bookmark["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
  EXPECT_NE(bookmark["object"]["metadata"]["resourceVersion"], "0");
  EXPECT_EQ(Get(std::string(kMaps) + "?watch=true&sendInitialEvents=true").status, 422);
  EXPECT_EQ(Get(std::string(kMaps) + "?sendInitialEvents=true").status, 422);
}

TEST_F(WatchTest, SelectorWatchReportsArrivalsAndDeparturesOfObjects) {
  const auto watch =
      Watch(std::string(kMaps) + "?watch=true&labelSelector=on%3D1&resourceVersion=" + Revision());
  Json object = ConfigMapJson("a");
  Post(kMaps, object);
  object["metadata"]["labels"] = {{"on", "1"}};
  Put(std::string(kMaps) + "/a", object);
  object["data"] = {{"k", "v"}};
  Put(std::string(kMaps) + "/a", object);
  object["metadata"].erase("labels");
  const Json left = Put(std::string(kMaps) + "/a", object).json;
  EXPECT_EQ(Shown(watch->Next()), "ADDED a");
  EXPECT_EQ(Shown(watch->Next()), "MODIFIED a");
  const Json gone = watch->Next();
  EXPECT_EQ(Shown(gone), "DELETED a");
  EXPECT_EQ(gone["object"]["metadata"]["labels"]["on"], "1");
  EXPECT_EQ(gone["object"]["metadata"]["resourceVersion"], left["metadata"]["resourceVersion"]);
}

TEST_F(WatchTest, WatchOfOneNameReportsThatObjectAlone) {
  const auto watch =
      Watch(std::string(kMaps) +
            "?watch=true&fieldSelector=metadata.name%3Db&resourceVersion=" + Revision());
  Post(kMaps, ConfigMapJson("a"));
  Post(kMaps, ConfigMapJson("b"));
  EXPECT_EQ(Shown(watch->Next()), "ADDED b");
}

// Changes of leases are not logged on disk: after a restart no watch can resume from before it.
TEST_F(WatchTest, ExpiredRevisionIsRefusedWith410) {
  constexpr const char* kLeases = "/apis/coordination.k8s.io/v1/leases?watch=true&resourceVersion=";
  StartServer({});
  const Answer expired = Get(std::string(kLeases) + "1");
  EXPECT_EQ(expired.status, 410);
  EXPECT_EQ(expired.reason(), "Expired");
  EXPECT_THAT(expired.message(), ::testing::StartsWith("too old resource version: 1 ("));
  EXPECT_EQ(Get(std::string(kLeases) + "abc").status, 400);
}

TEST_F(WatchTest, WatchEndsAtItsTimeoutAfterABookmark) {
  const auto watch = Watch(std::string(kMaps) +
                           "?watch=true&timeoutSeconds=1&allowWatchBookmarks=true&"
                           "resourceVersion=" +
                           Revision());
  EXPECT_EQ(watch->Next()["type"], "BOOKMARK");
  EXPECT_TRUE(watch->WaitForEnd());
}

TEST_F(WatchTest, ListIsReturnedAsATable) {
  net::Headers table{{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}};
  const Answer list = Get(kMaps, table);
  EXPECT_EQ(list.json["kind"], "Table");
  EXPECT_EQ(list.json["columnDefinitions"][0]["name"], "Name");
  EXPECT_EQ(list.json["rows"][0]["cells"][0], "kube-root-ca.crt");
  EXPECT_EQ(list.json["rows"][0]["object"]["kind"], "PartialObjectMetadata");
}

TEST_F(WatchTest, WatchResumesAfterARestartOfTheServer) {
  const std::string revision = Revision();
  Post(kMaps, ConfigMapJson("a"));
  Delete(std::string(kMaps) + "/a");
  StartServer({});
  const auto watch = Watch(std::string(kMaps) + "?watch=true&resourceVersion=" + revision);
  EXPECT_EQ(Shown(watch->Next()), "ADDED a");
  EXPECT_EQ(Shown(watch->Next()), "DELETED a");
}

}  // namespace
}  // namespace berth::local
