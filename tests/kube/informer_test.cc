// Goal: the informer's copy equals the API's state after every fault of its watch.
// Method: scripted lists and watches with ordered faults; the log of handler calls and the store
// are compared.

#include "kube/client/informer.h"

#include "base/random.h"
#include "tests/kube/kube_test_support.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class InformerTest : public ScriptedTest {
 protected:
  void SetUp() override {
    informer_.AddHandler({[&](const auto& o) { log_.push_back("+" + o->meta.name); },
                          [&](const auto& old, const auto& o) {
                            log_.push_back("~" + o->meta.name + ":" + old->topology_name + ">" +
                                           o->topology_name);
                          },
                          [&](const auto& o) { log_.push_back("-" + o->meta.name); }});
    informer_.AddIndex("topology", [](const api::ResourceFlavor& flavor) {
      return std::vector<std::string>{flavor.topology_name};
    });
  }
  void Put(const std::string& name, const std::string& topology = "") {
    Json flavor = Named(name);
    flavor["spec"]["topologyName"] = topology;
    api_.Put(kFlavors, flavor);
  }
  void PutBad(const std::string& name, const Json& spec = 7) {
    Json flavor = Named(name);
    flavor["spec"] = spec;
    api_.Put(kFlavors, flavor);
  }
  std::vector<std::string> TakeLog() { return std::exchange(log_, {}); }

  std::vector<std::string> log_;
  Informer<api::ResourceFlavor> informer_{client_, {}};
};

TEST_F(InformerTest, ListsThenFollows) {
  Put("a");
  int synced = 0;
  informer_.OnSynced([&] { ++synced; });
  EXPECT_FALSE(informer_.has_synced());
  informer_.Start();
  executor_.RunFor(1s);
  EXPECT_TRUE(informer_.has_synced());
  EXPECT_EQ(synced, 1);
  EXPECT_THAT(TakeLog(), ElementsAre("+a"));
  Put("b", "x");
  Put("a", "x");
  api_.Remove(std::string(kFlavors) + "/b");
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), ElementsAre("+b", "~a:>x", "-b"));
  ASSERT_EQ(informer_.ByIndex("topology", "x").size(), 1U);
  EXPECT_THAT(informer_.ByIndex("topology", ""), IsEmpty());
}

TEST_F(InformerTest, LateHandlerReceivesKnownObjects) {
  Put("a");
  informer_.Start();
  executor_.RunFor(1s);
  std::vector<std::string> late;
  informer_.AddHandler({.on_add = [&](const auto& o) { late.push_back(o->meta.name); }});
  EXPECT_THAT(late, ElementsAre("a"));
}

TEST_F(InformerTest, LostWatchResumesWithoutAList) {
  informer_.Start();
  Put("a");
  executor_.RunFor(1s);
  api_.DropWatches(Error{ErrorCode::kUnavailable, "connection lost"});
  Put("b");
  executor_.RunFor(5s);
  EXPECT_THAT(TakeLog(), ElementsAre("+a", "+b"));
  const auto lists = std::count_if(api_.requests().begin(), api_.requests().end(),
                                   [](const auto& r) { return r.method == "GET"; });
  EXPECT_EQ(lists, 1);
}

TEST_F(InformerTest, ExpiredWatchListsAgainAndReportsMissedChanges) {
  Put("a");
  Put("b");
  informer_.Start();
  executor_.RunFor(1s);
  TakeLog();
  api_.DropWatches();
  Put("a", "x");
  api_.Remove(std::string(kFlavors) + "/b");
  Put("c");
  api_.CompactHistory();
  executor_.RunFor(10s);
  EXPECT_THAT(TakeLog(), ElementsAre("~a:>x", "+c", "-b"));
}

// Pages that are newer than the watch: events older than a page are ignored.
TEST_F(InformerTest, ListWithNewerPagesReachesTheStateOfTheServer) {
  for (int i = 0; i < 502; ++i) Put("f" + std::to_string(1000 + i));
  bool changed = false;
  informer_.AddHandler({.on_add = [&](const auto& object) {
    if (object->meta.name != "f1001" || std::exchange(changed, true)) return;
    Put("f1002", "x");                              // in the first page
    api_.Remove(std::string(kFlavors) + "/f1003");  // likewise
    Put("f1500", "earlier life");                   // in the second page, a newer one
    api_.Remove(std::string(kFlavors) + "/f1500");
    Put("f1500", "y");
    Put("f1501", "z");
  }});
  api_.ExpireNextPage("f1499", "f1499");
  informer_.Start();
  executor_.RunFor(5s);
  EXPECT_TRUE(informer_.has_synced());
  std::vector<std::string> log = TakeLog();
  EXPECT_THAT(log, Contains("+f1500").Times(1));
  std::erase_if(log, [](const std::string& line) { return line.front() == '+'; });
  EXPECT_THAT(log, ElementsAre("~f1002:>x", "-f1003"));
  EXPECT_EQ(informer_.objects().size(), 501U);
  for (const auto& object : informer_.objects()) {
    const Json* there = api_.Find(std::string(kFlavors) + "/" + object->meta.name);
    ASSERT_NE(there, nullptr) << object->meta.name;
    EXPECT_EQ(object->meta.resource_version, (*there)["metadata"]["resourceVersion"]);
  }
}

TEST_F(InformerTest, FailedListIsTriedAgainWithBackoff) {
  Put("a");
  for (int i = 0; i < 4; ++i) api_.FailNext("GET", i % 2 == 0 ? 503 : 0);
  informer_.Start();
  executor_.RunFor(200ms);
  EXPECT_FALSE(informer_.has_synced());
  executor_.RunFor(20s);
  EXPECT_TRUE(informer_.has_synced());
}

TEST_F(InformerTest, RecreatedObjectIsRemovedAndAdded) {
  Put("a", "x");
  informer_.Start();
  executor_.RunFor(1s);
  TakeLog();
  api_.DropWatches();
  api_.Remove(std::string(kFlavors) + "/a");
  Put("a", "y");
  api_.CompactHistory();
  executor_.RunFor(10s);
  EXPECT_THAT(TakeLog(), ElementsAre("-a", "+a"));
}

TEST_F(InformerTest, UndecodableObjectIsLeftOut) {
  PutBad("bad");
  Put("good");
  informer_.Start();
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), ElementsAre("+good"));
  api_.Remove(std::string(kFlavors) + "/bad");
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), IsEmpty());
}

TEST_F(InformerTest, LastDecodedObjectStaysWhileDecodingFails) {
  Put("a", "x");
  Put("b");
  informer_.Start();
  executor_.RunFor(1s);
  TakeLog();
  PutBad("a");  // a watch tells
  executor_.RunFor(1s);
  api_.DropWatches();  // a list tells
  PutBad("b");
  api_.CompactHistory();
  executor_.RunFor(10s);
  EXPECT_THAT(TakeLog(), IsEmpty());
  ASSERT_NE(informer_.Get({"", "a"}), nullptr);
  EXPECT_EQ(informer_.Get({"", "a"})->topology_name, "x");
  Put("a", "y");
  Put("b", "y");
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), ElementsAre("~a:x>y", "~b:>y"));
}

TEST_F(InformerTest, UndecodableObjectIsRemovedWhenItIsDeleted) {
  for (const char* name : {"a", "b", "c", "d"}) Put(name);
  informer_.Start();
  executor_.RunFor(1s);
  TakeLog();
  for (const char* name : {"a", "b", "c"}) PutBad(name);
  api_.Remove(std::string(kFlavors) + "/a");
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), ElementsAre("-a")) << "a watch tells";
  api_.DropWatches();
  api_.Remove(std::string(kFlavors) + "/b");
  api_.Remove(std::string(kFlavors) + "/c");
  PutBad("c");
  api_.Remove(std::string(kFlavors) + "/d");
  PutBad("d");
  api_.CompactHistory();
  executor_.RunFor(10s);
  EXPECT_THAT(TakeLog(), UnorderedElementsAre("-b", "-c", "-d"))
      << "a list tells; what has that name now is another object";
  Put("c");
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), ElementsAre("+c"));
}

TEST_F(InformerTest, DecodingFailureIsLoggedOncePerReason) {
  Put("a");
  const auto logged = [this](const std::function<void()>& happen) {
    ::testing::internal::CaptureStderr();
    happen();
    executor_.RunFor(10s);
    const std::string text = ::testing::internal::GetCapturedStderr();
    return text.find("cannot be decoded kind=ResourceFlavor key=a") != std::string::npos;
  };
  informer_.Start();
  EXPECT_FALSE(logged([] {}));
  EXPECT_TRUE(logged([&] { PutBad("a"); }));
  EXPECT_FALSE(logged([&] { PutBad("a"); }));
  EXPECT_FALSE(logged([&] {
    api_.DropWatches();
    Put("b");
    api_.CompactHistory();
  }));
  EXPECT_TRUE(logged([&] { PutBad("a", Json::array()); })) << "another reason";
  EXPECT_FALSE(logged([&] { Put("a"); }));
  EXPECT_TRUE(logged([&] { PutBad("a"); }));
  EXPECT_TRUE(logged([&] {
    api_.Remove(std::string(kFlavors) + "/a");
    PutBad("a");
  }));
}

TEST_F(InformerTest, IngestedWriteIsReportedAtOnceAndOnlyOnce) {
  Put("a", "x");
  informer_.Start();
  executor_.RunFor(1s);
  TakeLog();
  Put("a", "y");
  informer_.Ingest(*api_.Find(std::string(kFlavors) + "/a"));
  EXPECT_THAT(TakeLog(), ElementsAre("~a:x>y"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeLog(), IsEmpty());
  const Json last = *api_.Find(std::string(kFlavors) + "/a");
  api_.Remove(std::string(kFlavors) + "/a");
  executor_.RunFor(1s);
  informer_.Ingest(last);  // late answer: must not bring it back
  EXPECT_EQ(informer_.Get({"", "a"}), nullptr);
}

TEST_F(InformerTest, RandomFaultsNeverLoseAnything) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RegistryTransport api(executor_, clock_);
    ApiClient client(api, executor_);
    Informer<api::ResourceFlavor> informer(client, {.seed = seed});
    informer.Start();
    Random random(seed);
    std::set<std::string> want;
    for (int step = 0; step < 200; ++step) {
      const std::string name = "f" + std::to_string(random.Below(12));
      const std::uint64_t choice = random.Below(10);
      if (choice < 6) {
        api.Put(kFlavors, Named(name));
        want.insert(name);
      } else if (choice < 8) {
        api.Remove(std::string(kFlavors) + "/" + name);
        want.erase(name);
      } else if (choice < 9) {
        api.DropWatches(Error{ErrorCode::kUnavailable, "lost"});
      } else {
        api.CompactHistory();
      }
      executor_.RunFor(Duration(random.Below(2'000'000)));
    }
    executor_.RunFor(60s);
    std::set<std::string> got;
    for (const auto& object : informer.objects()) got.insert(object->meta.name);
    EXPECT_EQ(got, want) << "seed " << seed;
  }
}

}  // namespace
}  // namespace berth::kube
