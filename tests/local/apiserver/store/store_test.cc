// Goal: preconditions, revisions, transactions, listeners, and the state after a restart.
// Method: the same table of rules runs in memory and on disk.
#include "local/apiserver/store/store.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/local/apiserver/store/temp_folder.h"

namespace berth::local {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json ConfigMap(const std::string& name, const std::string& value) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"namespace", "default"}}},
          {"data", {{"key", value}}}};
}

ObjectKey Key(const std::string& name) { return {"configmaps", "default", name}; }

Write Create(const std::string& name, const std::string& value) {
  return {Write::Kind::kCreate, Key(name), ConfigMap(name, value), 0};
}

std::string ValueOf(const StoredPtr& object) { return (*object->json())["data"]["key"]; }

class StoreTest : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { Open(); }
  void Open() {
    store_.reset();
    StoreOptions options;
    if (GetParam()) options.path = folder_.File("state.db");
    auto opened = Store::Open(std::move(options));
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
  }
  StoredPtr CommitOne(Write write) {
    auto done = store_->Commit({std::move(write)});
    EXPECT_TRUE(done) << done.error().message;
    return done ? done->front() : nullptr;
  }

  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

TEST_P(StoreTest, EachWriteIncreasesTheRevision) {
  const StoredPtr created = CommitOne(Create("a", "1"));
  EXPECT_EQ(created->revision(), 2);
  EXPECT_EQ((*created->json())["metadata"]["resourceVersion"], "2");
  EXPECT_EQ(created->Typed(),
            R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"2",)"
            R"("name":"a","namespace":"default"},"data":{"key":"1"}})");
  const StoredPtr updated =
      CommitOne({Write::Kind::kUpdate, Key("a"), ConfigMap("a", "2"), created->revision()});
  EXPECT_EQ(updated->revision(), 3);
  EXPECT_EQ(ValueOf(store_->cache().Get(Key("a"))), "2");
  const StoredPtr deleted =
      CommitOne({Write::Kind::kDelete, Key("a"), ConfigMap("a", "2"), updated->revision()});
  EXPECT_EQ((*deleted->json())["metadata"]["resourceVersion"], "4");
  EXPECT_EQ(store_->cache().Get(Key("a")), nullptr);
  EXPECT_EQ(store_->cache().revision(), 4);
}

TEST_P(StoreTest, PreconditionsNameTheConflict) {
  const StoredPtr created = CommitOne(Create("a", "1"));
  auto again = store_->Commit({Create("a", "2")});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  auto stale = store_->Commit({{Write::Kind::kUpdate, Key("a"), ConfigMap("a", "2"), 1}});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().code, ErrorCode::kConflict);
  auto missing = store_->Commit({{Write::Kind::kUpdate, Key("b"), ConfigMap("b", "2"), 1}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ValueOf(store_->cache().Get(Key("a"))), "1");
  EXPECT_EQ(store_->cache().revision(), created->revision());
}

TEST_P(StoreTest, SubmittedWriteCallsBackOnceItIsDone) {
  auto submitted = store_->Submit({Create("a", "1")});
  ASSERT_TRUE(submitted);
  EXPECT_EQ(ValueOf(submitted->objects.front()), "1");
  EXPECT_EQ(store_->GetLatest(Key("a")), submitted->objects.front());
  // Preconditions see the write at once, before it is on the disk.
  const auto again = store_->Submit({Create("a", "2")});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kAlreadyExists);
  std::promise<bool> visible;
  submitted->pending->OnDone([&](const Status& done) {
    visible.set_value(done.has_value() && store_->cache().Get(Key("a")) != nullptr);
  });
  EXPECT_TRUE(visible.get_future().get());
  EXPECT_TRUE(submitted->pending->Wait());
  // A later OnDone is called at once, and a ticket may outlive its store.
  store_.reset();
  bool told = false;
  submitted->pending->OnDone([&](const Status& done) { told = done.has_value(); });
  EXPECT_TRUE(told);
}

TEST_P(StoreTest, SubmittedWritesHappenBeforeTheStoreEnds) {
  std::atomic<int> done{0};
  for (int i = 0; i < 200; ++i) {
    auto submitted = store_->Submit({Create("w" + std::to_string(i), "1")});
    ASSERT_TRUE(submitted);
    submitted->pending->OnDone([&](const Status& status) { done += status ? 1 : 0; });
  }
  store_.reset();
  EXPECT_EQ(done.load(), 200);
}

TEST_P(StoreTest, ATransactionIsAllOrNothing) {
  CommitOne(Create("a", "1"));
  EXPECT_FALSE(store_->Commit({Create("b", "1"), Create("a", "2")}));
  EXPECT_EQ(store_->cache().Get(Key("b")), nullptr);
  auto both = store_->Commit({Create("b", "1"), Create("c", "1")});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->at(0)->revision() + 1, both->at(1)->revision());
}

TEST_P(StoreTest, ListenersSeeEventsInOrderAfterTheCache) {
  std::mutex mutex;
  std::condition_variable heard;
  std::vector<std::string> seen;
  const int id = store_->AddListener([&](const std::vector<EventPtr>& events) {
    const std::lock_guard lock(mutex);
    for (const EventPtr& event : events) {
      const bool visible = store_->cache().revision() >= event->revision;
      seen.push_back(std::to_string(event->revision) + (visible ? "" : " too early"));
    }
    heard.notify_one();
  });
  CommitOne(Create("a", "1"));
  CommitOne(Create("b", "1"));
  {
    // A commit returns when it is on disk; listeners are called a moment later.
    std::unique_lock lock(mutex);
    ASSERT_TRUE(heard.wait_for(lock, std::chrono::seconds(10), [&] { return seen.size() >= 2; }));
  }
  store_->RemoveListener(id);
  CommitOne(Create("c", "1"));
  EXPECT_THAT(seen, ElementsAre("2", "3"));
}

TEST_P(StoreTest, ThrowingCallbackBlocksNoOtherWrite) {
  if (!GetParam()) return;  // in memory a write ends inside Submit
  std::promise<void> busy;
  std::promise<void> gate;
  const int id = store_->AddListener([&, first = true](const auto& /*events*/) mutable {
    if (!std::exchange(first, false)) return;
    busy.set_value();
    gate.get_future().wait();
  });
  CommitOne(Create("first", "1"));
  busy.get_future().wait();  // the writer waits: what follows is one batch
  auto throws = store_->Submit({Create("a", "1")});
  auto lives = store_->Submit({Create("b", "1")});
  ASSERT_TRUE(throws && lives);
  throws->pending->OnDone([](const Status&) { throw std::runtime_error("planted"); });
  gate.set_value();
  EXPECT_TRUE(lives->pending->Wait());
  CommitOne(Create("c", "1"));
  store_->RemoveListener(id);
  Open();
  for (const char* name : {"first", "a", "b", "c"}) {
    EXPECT_NE(store_->cache().Get(Key(name)), nullptr) << name;
  }
}

TEST_P(StoreTest, WritersOfOneObjectNeverLoseAnUpdate) {
  CommitOne(Create("counter", "0"));
  constexpr int kThreads = 8;
  constexpr int kRounds = 25;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      for (int done = 0; done < kRounds;) {
        const StoredPtr read = store_->GetLatest(Key("counter"));
        const int value = std::stoi(ValueOf(read));
        auto written =
            store_->Commit({{Write::Kind::kUpdate, Key("counter"),
                             ConfigMap("counter", std::to_string(value + 1)), read->revision()}});
        if (written) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ValueOf(store_->cache().Get(Key("counter"))), std::to_string(kThreads * kRounds));
}

INSTANTIATE_TEST_SUITE_P(Modes, StoreTest, ::testing::Values(false, true),
                         [](const auto& row) { return row.param ? "Disk" : "Memory"; });

class StoreOnDiskTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open(StoreOptions options = {}) {
    options.path = folder_.File("state.db");
    auto opened = Store::Open(std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  TempFolder folder_;
};

TEST_F(StoreOnDiskTest, ARestartKeepsObjectsRevisionEpochAndTheLog) {
  std::string epoch;
  {
    auto store = Open();
    epoch = store->epoch();
    auto a = store->Commit({Create("a", "1")});
    ASSERT_TRUE(store->Commit({Create("b", "1")}));
    ASSERT_TRUE(store->Commit(
        {{Write::Kind::kUpdate, Key("a"), ConfigMap("a", "2"), a->front()->revision()}}));
    const StoredPtr b = store->GetLatest(Key("b"));
    ASSERT_TRUE(store->Commit({{Write::Kind::kDelete, Key("b"), *b->json(), b->revision()}}));
  }
  auto store = Open();
  EXPECT_EQ(store->epoch(), epoch);
  EXPECT_EQ(store->cache().revision(), 5);  // the deletion's revision
  const StoredPtr a = store->cache().Get(Key("a"));
  EXPECT_EQ(ValueOf(a), "2");
  EXPECT_EQ((*a->json())["kind"], "ConfigMap");
  const auto changes = store->cache().EventsAfter("configmaps", 2, 100);
  ASSERT_EQ(changes.state, WatchCache::Changes::State::kOk);
  ASSERT_EQ(changes.events.size(), 3U);
  EXPECT_EQ(ValueOf(changes.events[1]->previous), "1");
  EXPECT_EQ(changes.events[2]->type, WatchEvent::Type::kDeleted);
}

TEST_F(StoreOnDiskTest, TheLogIsBoundedAndOldPositionsExpire) {
  StoreOptions options;
  options.keep_log_rows = 1000;
  {
    auto store = Open(options);
    for (int i = 0; i < 40; ++i) {
      std::vector<Write> writes;
      for (int k = 0; k < 64; ++k) {
        writes.push_back(Create("cm-" + std::to_string(i * 64 + k), "1"));
      }
      ASSERT_TRUE(store->Commit(std::move(writes)));
    }
  }
  auto store = Open(options);
  EXPECT_EQ(store->cache().List("configmaps", "").objects.size(), 2560U);
  EXPECT_EQ(store->cache().EventsAfter("configmaps", 2, 10).state,
            WatchCache::Changes::State::kExpired);
  EXPECT_EQ(store->cache().EventsAfter("configmaps", 2000, 10).state,
            WatchCache::Changes::State::kOk);
}

// A selector watch that resumes must see that an object has left its selection, also if the log
// lacks the change before the resumed one.
TEST_F(StoreOnDiskTest, ReplayedChangeHasItsPreviousState) {
  StoreOptions options;
  options.keep_log_rows = 0;
  {
    auto store = Open(options);
    ASSERT_TRUE(store->Commit({Create("a", "1"), Create("b", "1")}));
    for (int i = 0; i < 20; ++i) {
      std::vector<Write> writes;
      for (int k = 0; k < 64; ++k) writes.push_back(Create("x" + std::to_string(i * 64 + k), "1"));
      ASSERT_TRUE(store->Commit(std::move(writes)));
    }
    const auto update = [&](const char* name, const char* value) {
      const StoredPtr now = store->GetLatest(Key(name));
      ASSERT_TRUE(store->Commit(
          {{Write::Kind::kUpdate, Key(name), ConfigMap(name, value), now->revision()}}));
    };
    update("a", "2");
    update("a", "3");
    const StoredPtr b = store->GetLatest(Key("b"));
    ASSERT_TRUE(store->Commit({{Write::Kind::kDelete, Key("b"), *b->json(), b->revision()}}));
    ASSERT_TRUE(store->Commit({Create("b", "4")}));
  }
  auto store = Open(options);
  const std::int64_t now = store->cache().revision();
  EXPECT_EQ(store->cache().EventsAfter("configmaps", 2, 1).state,
            WatchCache::Changes::State::kExpired);
  const auto changes = store->cache().EventsAfter("configmaps", now - 4, 100);
  ASSERT_EQ(changes.state, WatchCache::Changes::State::kOk);
  std::vector<std::string> told;
  for (const EventPtr& event : changes.events) {
    const StoredPtr& before = event->previous;
    told.push_back((before == nullptr ? "-" : ValueOf(before)) + ">" + ValueOf(event->object) +
                   (event->type == WatchEvent::Type::kDeleted ? " gone" : ""));
  }
  EXPECT_THAT(told, ElementsAre("1>2", "2>3", "1>1 gone", "->4"));
  EXPECT_EQ(changes.events[1]->previous->revision(), changes.events[0]->revision);
}

TEST_F(StoreOnDiskTest, NewDatabaseBeginsAtTheGivenRevision) {
  StoreOptions options;
  options.first_revision = 5'000'000;
  {
    auto store = Open(options);
    EXPECT_EQ(store->Commit({Create("a", "1")})->front()->revision(), 5'000'001);
    EXPECT_EQ(store->cache().EventsAfter("configmaps", 4'999'999, 1).state,
              WatchCache::Changes::State::kExpired);
  }
  options.first_revision = 7'000'000;  // an old one goes on
  auto store = Open(options);
  EXPECT_EQ(store->Commit({Create("b", "1")})->front()->revision(), 5'000'002);
}

TEST_F(StoreOnDiskTest, RecentChangesAreKeptBeyondTheLimitOfRows) {
  StoreOptions options;
  options.keep_log_rows = 100;
  options.window.max_events = 100;
  options.window.keep_for = std::chrono::hours(1);
  {
    auto store = Open(options);
    for (int i = 0; i < 700; ++i) ASSERT_TRUE(store->Commit({Create("m" + std::to_string(i), "")}));
    EXPECT_EQ(store->cache().EventsAfter("configmaps", 2, 1).state,
              WatchCache::Changes::State::kOk);
  }
  auto store = Open(options);
  EXPECT_EQ(store->cache().EventsAfter("configmaps", 2, 1).state, WatchCache::Changes::State::kOk);
}

TEST_F(StoreOnDiskTest, UnloggedResourcesAreStoredButNotReplayed) {
  const ObjectKey lease{"leases.coordination.k8s.io", "default", "l"};
  Json object = ConfigMap("l", "1");
  {
    auto store = Open();
    ASSERT_TRUE(store->Commit({{Write::Kind::kCreate, lease, object, 0}}));
  }
  auto store = Open();
  EXPECT_NE(store->cache().Get(lease), nullptr);
  const std::int64_t now = store->cache().revision();
  EXPECT_EQ(store->cache().EventsAfter(lease.resource, now, 10).state,
            WatchCache::Changes::State::kOk);
  EXPECT_EQ(store->cache().EventsAfter(lease.resource, now - 1, 10).state,
            WatchCache::Changes::State::kExpired);
}

TEST_F(StoreOnDiskTest, SecondProcessIsRefused) {
  auto store = Open();
  StoreOptions options;
  options.path = folder_.File("state.db");
  auto second = Store::Open(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr("works with this data directory"));
}

}  // namespace
}  // namespace berth::local
