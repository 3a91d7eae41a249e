// Goal: a revision or a watch of an earlier server has the same meaning for the next one,
// or is refused; a server whose disk fails reports it. Method: the whole server is
// stopped and started on the same folder, on an emptied one, and on a file system that
// fails.
#include <filesystem>

#include <gmock/gmock.h>

#include "tests/local/apiserver/server/server_fixture.h"
#include "tests/local/apiserver/store/fault_vfs.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

Json Labelled(const std::string& name, const std::string& app) {
  Json map = ConfigMapJson(name);
  map["metadata"]["labels"] = {{"app", app}};
  return map;
}

std::string Shown(const Json& event) {
  if (!event.is_object()) return "nothing";
  return event["type"].get<std::string>() + " " +
         event["object"]["metadata"].value("name", std::string()) +
         event["object"].value("reason", std::string());
}

class ResumeTest : public ServerTest {
 protected:
  std::string Revision() { return Get(kMaps).json["metadata"]["resourceVersion"]; }
};

TEST_F(ResumeTest, SelectorWatchReportsDeparturesFromBeforeARestart) {
  Post(kMaps, Labelled("stays", "x"));
  Post(kMaps, Labelled("leaves", "x"));
  const std::string revision = Revision();
  Put(std::string(kMaps) + "/leaves", Labelled("leaves", "y"));
  Put(std::string(kMaps) + "/stays", Labelled("stays", "x"));
  Delete(std::string(kMaps) + "/stays");
  StartServer({});
  const auto watch =
      Watch(std::string(kMaps) + "?watch=true&labelSelector=app%3Dx&resourceVersion=" + revision);
  const Json left = watch->Next();
  EXPECT_EQ(Shown(left), "DELETED leaves");
  EXPECT_EQ(left["object"]["metadata"]["labels"]["app"], "x");
  EXPECT_EQ(Shown(watch->Next()), "DELETED stays");
}

TEST_F(ResumeTest, NewDatabaseBeginsAboveTheRevisionsOfTheLast) {
  for (int i = 0; i < 20; ++i) Post(kMaps, ConfigMapJson("m" + std::to_string(i)));
  const std::string old = Revision();
  StopServer();
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    if (file.path().filename().string().starts_with("state.db")) {
      std::filesystem::remove(file.path());
    }
  }
  StartServer({});
  EXPECT_GT(std::stoll(Revision()), std::stoll(old));
  const Answer resumed = Get(std::string(kMaps) + "?watch=true&resourceVersion=" + old);
  EXPECT_EQ(resumed.status, 410) << resumed.text;
  EXPECT_EQ(resumed.reason(), "Expired");
}

TEST_F(ResumeTest, WatchFromAFutureRevisionIsRefused) {
  const std::string later = std::to_string(std::stoll(Revision()) + 1000);
  const Answer refused = Get(std::string(kMaps) + "?watch=true&resourceVersion=" + later);
  EXPECT_EQ(refused.status, 504) << refused.text;
  EXPECT_THAT(refused.message(), HasSubstr("Too large resource version"));
}

TEST_F(ResumeTest, RestoredBackupServesAndRefusesOldRevisions) {
  Post(kMaps, ConfigMapJson("kept"));
  const Answer made = Send("POST", "/debug/berth/backup");
  ASSERT_EQ(made.status, 201) << made.text;
  Post(kMaps, ConfigMapJson("later"));
  const std::string seen = Revision();
  StopServer();
  for (const char* name : {"state.db", "state.db-wal"}) {
    std::filesystem::remove(folder_.File(name));
  }
  std::filesystem::rename(made.json["path"].get<std::string>(), folder_.File("state.db"));
  StartServer({});
  EXPECT_EQ(Get(std::string(kMaps) + "/kept").status, 200);
  EXPECT_EQ(Get(std::string(kMaps) + "/later").status, 404);
  EXPECT_EQ(Get(std::string(kMaps) + "?watch=true&resourceVersion=" + seen).status, 410);
  const Answer created = Post(kMaps, ConfigMapJson("next"));
  EXPECT_EQ(created.status, 201);
  EXPECT_GT(std::stoll(created.json["metadata"]["resourceVersion"].get<std::string>()),
            std::stoll(seen));
  EXPECT_EQ(Get("/debug/berth/backup").status, 404);
}

class FailingDiskTest : public ServerTest {
 protected:
  FaultVfs vfs_;
};

TEST_F(FailingDiskTest, FailedSyncEndsWritesAndReadinessOnly) {
  ASSERT_EQ(Post(kMaps, ConfigMapJson("before")).status, 201);
  EXPECT_EQ(Get("/readyz").status, 200);
  vfs_.FailSync(0, "-wal");
  EXPECT_EQ(Post(kMaps, ConfigMapJson("unknown")).status, 503);
  const Answer refused = Post(kMaps, ConfigMapJson("later"));
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.message(), HasSubstr("until berth is started again"));
  const Answer ready = Get("/readyz");
  EXPECT_EQ(ready.status, 500);
  EXPECT_THAT(ready.text, HasSubstr("[-]store failed: "));
  EXPECT_EQ(Get("/livez").status, 200);
  EXPECT_EQ(Get(std::string(kMaps) + "/before").status, 200);
  StopServer();
  vfs_.Lose(0);
  StartServer({});
  EXPECT_EQ(Get("/readyz").status, 200);
  EXPECT_EQ(Get(std::string(kMaps) + "/before").status, 200);
  EXPECT_EQ(Get(std::string(kMaps) + "/later").status, 404);
  EXPECT_EQ(Post(kMaps, ConfigMapJson("later")).status, 201);
}

}  // namespace
}  // namespace berth::local
