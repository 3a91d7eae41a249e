// Goal: a list that has expired when it ends is not repeated in a tight loop, and other errors do
// not wait for that. Method: an API whose history expires during a list; the requests and the start
// of each list are compared.

#include "kube/client/reflector.h"

#include "tests/kube/kube_test_support.h"
#include "tests/kube/name_reader.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kFirstPage[] = "limit=500";
constexpr char kSecondPage[] = "limit=500&continue=f1499";
constexpr char kWhole[] = "";
constexpr std::size_t kTooMany = 20;  // lists

class ReflectorTest : public ScriptedTest {
 protected:
  void SetUp() override {
    for (int i = 1000; i < 1501; ++i) api_.Put(kFlavors, Named("f" + std::to_string(i)));
  }

  // The part of history that expires before a page is delivered; kAll: after the list.
  enum class Forgets { kNothing, kFirstPages, kAll };

  ReflectorCallbacks Callbacks() {
    return {.on_list_start =
                [this] {
                  lists_.push_back(clock_.SteadyNow());
                  if (lists_.size() > kTooMany) forgets_ = Forgets::kNothing;  // failed; let it end
                },
            .on_page =
                [this](const std::vector<ReadObject>& items) {
                  const bool forgets = forgets_ == Forgets::kAll ||
                                       (forgets_ == Forgets::kFirstPages && items.size() == 500);
                  if (!forgets) return;
                  api_.Put(kFlavors, Named("f1000"));
                  api_.CompactHistory();
                },
            .on_list_end = [] {},
            .on_event =
                [this](WatchEvent::Type, const ReadObject& read) {
                  heard_.push_back(*std::static_pointer_cast<const std::string>(read.object));
                },
            .on_error = [this](const Error& error) { errors_.push_back(error.code); }};
  }
  std::vector<std::string> TakeQueries() {
    std::vector<std::string> queries;
    for (const ScriptedTransport::Recorded& request : api_.requests())
      queries.push_back(request.query);
    api_.ClearRequests();
    return queries;
  }
  std::vector<std::string> TakeHeard() { return std::exchange(heard_, {}); }

  Forgets forgets_ = Forgets::kNothing;
  std::vector<SteadyTime> lists_;  // when they began
  std::vector<std::string> heard_;
  std::vector<ErrorCode> errors_;
  Reflector reflector_{client_,
                       api::KindOf<api::ResourceFlavor>(),
                       {},
                       std::make_shared<const NameReader>(),
                       Callbacks()};
};

TEST_F(ReflectorTest, ExpiredPagesAreReplacedByOneWholeListAfterAPause) {
  forgets_ = Forgets::kFirstPages;
  reflector_.Start();
  executor_.RunFor(5s);
  EXPECT_THAT(TakeQueries(), ElementsAre(kFirstPage, kSecondPage, kWhole));
  ASSERT_EQ(lists_.size(), 2U);
  EXPECT_GE(lists_[1] - lists_[0], 400ms);
  EXPECT_THAT(errors_, ElementsAre(ErrorCode::kExpired));
  api_.Put(kFlavors, Named("new"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeHeard(), ElementsAre("new"));
}

TEST_F(ReflectorTest, ExpiredListsAlternateFormsAndBackOff) {
  forgets_ = Forgets::kAll;
  reflector_.Start();
  executor_.RunFor(100s);
  ASSERT_GE(lists_.size(), 7U);
  EXPECT_LE(lists_.size(), 11U);
  Duration pause = 400ms;
  for (std::size_t i = 1; i < lists_.size(); ++i) {
    EXPECT_GE(lists_[i] - lists_[i - 1], pause) << i;
    pause = std::min<Duration>(2 * pause, 15s);
  }
  std::vector<std::string> queries = TakeQueries();
  std::erase(queries, kSecondPage);
  for (std::size_t i = 0; i < queries.size(); ++i) {
    EXPECT_EQ(queries[i], i % 2 == 0 ? kFirstPage : kWhole) << i;
  }

  forgets_ = Forgets::kNothing;
  executor_.RunFor(31s);
  api_.Put(kFlavors, Named("new"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeHeard(), ElementsAre("new"));
  TakeQueries();
  api_.DropWatches(Error{ErrorCode::kUnavailable, "lost"});
  api_.Put(kFlavors, Named("newer"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeHeard(), ElementsAre("newer")) << "after the first, short pause";
  EXPECT_THAT(TakeQueries(), IsEmpty());
}

TEST_F(ReflectorTest, FailedWholeListIsFollowedByPages) {
  forgets_ = Forgets::kFirstPages;
  reflector_.Start();
  executor_.RunUntil([&] { return !errors_.empty(); });
  TakeQueries();
  forgets_ = Forgets::kNothing;
  api_.FailNext("GET", 0, ErrorCode::kInvalid);  // too long
  executor_.RunFor(5s);
  EXPECT_THAT(TakeQueries(), ElementsAre(kWhole, kFirstPage, kSecondPage));
}

// A watch has shown that the list was fresh: a later expiry is not the list's fault.
TEST_F(ReflectorTest, LaterExpiryOfAWatchListsAgainAtOnceInPages) {
  reflector_.Start();
  executor_.RunFor(1s);
  for (const Status& end : {OkStatus(), Status(Error{ErrorCode::kDeadlineExceeded, "silence"})}) {
    TakeQueries();
    lists_.clear();
    if (end) {  // one that brought nothing would have to wait
      api_.Put(kFlavors, Named("f1000"));
      executor_.RunFor(1s);
    } else {
      executor_.RunFor(90s);  // the silence
    }
    api_.DropWatches(end);
    api_.Put(kFlavors, Named("f1001"));
    api_.CompactHistory();
    const SteadyTime ended = clock_.SteadyNow();
    executor_.RunFor(1s);
    EXPECT_THAT(TakeQueries(), ElementsAre(kFirstPage, kSecondPage));
    ASSERT_EQ(lists_.size(), 1U);
    EXPECT_LT(lists_[0] - ended, 10ms);
  }
  EXPECT_THAT(errors_, IsEmpty());
}

// kube-apiserver refuses watches of a kind while it takes a change of its definition.
TEST_F(ReflectorTest, ListIsRepeatedAtOnceWhenItExpiresBeforeItsWatch) {
  api_.RefuseWatches(Error{ErrorCode::kTooManyRequests, "storage is (re)initializing"});
  reflector_.Start();
  executor_.RunUntil([&] { return errors_.size() == 3; });
  api_.Put(kFlavors, Named("f1000"));
  api_.CompactHistory();
  api_.RefuseWatches(std::nullopt);
  lists_.clear();
  const std::size_t before = api_.watches_begun();
  executor_.RunUntil([&] { return api_.watches_begun() > before; });
  const SteadyTime watched = clock_.SteadyNow();
  executor_.RunFor(10s);
  ASSERT_EQ(lists_.size(), 1U);
  EXPECT_LT(lists_[0] - watched, 10ms);
  api_.Put(kFlavors, Named("f1001"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeHeard(), ElementsAre("f1001"));
}

// A server without bookmarks ends the watches of a quiet kind each few minutes.
TEST_F(ReflectorTest, QuietWatchThatEndsIsRenewedAtOnce) {
  reflector_.Start();
  executor_.RunFor(1s);
  for (int lifetime = 0; lifetime < 8; ++lifetime) {
    executor_.RunFor(6min);
    api_.DropWatches(OkStatus());
  }
  api_.Put(kFlavors, Named("f1000"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeHeard(), ElementsAre("f1000"));
  EXPECT_THAT(errors_, IsEmpty());
}

// A proxy in front of the API server answers 504 at once.
TEST_F(ReflectorTest, AWatchThatTimesOutAtOnceBacksOff) {
  reflector_.Start();
  executor_.RunFor(1s);
  for (const ErrorCode code : {ErrorCode::kDeadlineExceeded, ErrorCode::kForbidden}) {
    api_.RefuseWatches(Error{code, "no"});
    api_.DropWatches(Error{code, "no"});
    const std::size_t before = api_.watches_begun();
    executor_.RunFor(10s);
    EXPECT_GE(api_.watches_begun() - before, 3U);
    EXPECT_LE(api_.watches_begun() - before, 8U);
    executor_.RunFor(10min);
    EXPECT_LE(api_.watches_begun() - before, 60U);
    api_.RefuseWatches(std::nullopt);
    executor_.RunFor(31s);
    api_.Put(kFlavors, Named("f1000"));
    executor_.RunFor(1s);
    EXPECT_THAT(TakeHeard(), ElementsAre("f1000"));
  }
}

class CatchUpTest : public ReflectorTest {
 protected:
  void SetUp() override {
    api_.Put(kFlavors, Named("f1"));
    reflector_.Start();
    executor_.RunFor(1s);
    TakeQueries();
  }
  // Writes another object: the version of the whole server rises, the collection stays quiet.
  void WriteElsewhere() { api_.Put("/api/v1/namespaces/a/pods", Named("p")); }
  // Returns the time until the reflector has caught up.
  Duration CatchUp() {
    bool done = false;
    const SteadyTime begin = clock_.SteadyNow();
    reflector_.CatchUp([&] { done = true; });
    EXPECT_FALSE(done);
    executor_.RunUntil([&] { return done; });
    return clock_.SteadyNow() - begin;
  }
};

TEST_F(CatchUpTest, CollectionKnownFromTheWatchIsNotListedAgain) {
  api_.Put(kFlavors, Named("f2"));
  executor_.RunFor(1s);
  EXPECT_LT(CatchUp(), 1s);
  EXPECT_THAT(TakeQueries(), ElementsAre("limit=1"));
}

TEST_F(CatchUpTest, QuietCollectionIsListedAgain) {
  WriteElsewhere();
  EXPECT_LT(CatchUp(), 2s);
  EXPECT_THAT(TakeQueries(), ElementsAre("limit=1", "limit=500"));
  api_.Put(kFlavors, Named("f2"));
  executor_.RunFor(1s);
  EXPECT_THAT(TakeHeard(), ElementsAre("f2")) << "one watch is open";
}

// The next attempt of the watch would be half a minute away.
TEST_F(CatchUpTest, CatchUpDoesNotWaitForABrokenWatch) {
  api_.RefuseWatches(Error{ErrorCode::kUnavailable, "no"});
  api_.DropWatches(Error{ErrorCode::kUnavailable, "no"});
  executor_.RunFor(3min);
  api_.RefuseWatches(std::nullopt);
  api_.Put(kFlavors, Named("f2"));
  lists_.clear();
  EXPECT_LT(CatchUp(), 2s);
  EXPECT_EQ(lists_.size(), 1U);
  api_.Put(kFlavors, Named("f3"));
  executor_.RunFor(10min);
  EXPECT_THAT(TakeHeard(), ElementsAre("f3")) << "one watch is open";
}

TEST_F(CatchUpTest, FailedListIsRetried) {
  api_.FailNext("GET " + std::string(kFlavors), 503);
  EXPECT_LT(CatchUp(), 3s);
}

TEST_F(CatchUpTest, CatchUpDoesNotWaitForAForbiddenCollection) {
  api_.FailNext("GET " + std::string(kFlavors), 403);
  EXPECT_LT(CatchUp(), 1s);
}

}  // namespace
}  // namespace berth::kube
