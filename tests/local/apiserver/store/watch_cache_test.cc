// Goal: windows exclude their position, are bounded in events and bytes, and report expired
// positions.
#include "local/apiserver/store/watch_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::local {
namespace {

using ::testing::ElementsAre;

EventPtr Added(const std::string& resource, const std::string& name, std::int64_t revision) {
  auto event = std::make_shared<StoreEvent>();
  event->revision = revision;
  event->object = std::make_shared<const StoredObject>(
      ObjectKey{resource, "default", name}, revision,
      StoredObject::MakeDraft(
          {{"kind", "K"}, {"apiVersion", "v1"}, {"metadata", {{"name", name}}}}));
  return event;
}

std::vector<std::int64_t> Revisions(const WatchCache::Changes& changes) {
  std::vector<std::int64_t> revisions;
  for (const EventPtr& event : changes.events) revisions.push_back(event->revision);
  return revisions;
}

TEST(WatchCacheTest, PositionsAreExclusive) {
  WatchCache cache({});
  cache.Publish({Added("pods", "a", 2), Added("jobs.batch", "j", 3), Added("pods", "b", 4)});
  EXPECT_THAT(Revisions(cache.EventsAfter("pods", 1, 10)), ElementsAre(2, 4));
  EXPECT_THAT(Revisions(cache.EventsAfter("pods", 2, 10)), ElementsAre(4));
  EXPECT_THAT(Revisions(cache.EventsAfter("pods", 4, 10)), ElementsAre());
  EXPECT_EQ(cache.EventsAfter("pods", 2, 10).through, 4);
}

TEST(WatchCacheTest, CutBatchReportsItsLastRevision) {
  WatchCache cache({});
  cache.Publish({Added("pods", "a", 2), Added("pods", "b", 3), Added("pods", "c", 4)});
  const auto changes = cache.EventsAfter("pods", 1, 2);
  EXPECT_THAT(Revisions(changes), ElementsAre(2, 3));
  EXPECT_EQ(changes.through, 3);
}

TEST(WatchCacheTest, OldPositionsExpireByCountAndBySize) {
  WatchCache by_count({.max_events = 2});
  WatchCache by_size({.max_bytes = 150});
  for (WatchCache* cache : {&by_count, &by_size}) {
    for (std::int64_t r = 2; r < 8; ++r) {
      cache->Publish({Added("pods", "p" + std::to_string(r), r)});
    }
    EXPECT_EQ(cache->EventsAfter("pods", 2, 10).state, WatchCache::Changes::State::kExpired);
    EXPECT_EQ(cache->EventsAfter("pods", 6, 10).state, WatchCache::Changes::State::kOk);
    EXPECT_EQ(cache->List("pods", "").objects.size(), 6U);
  }
}

EventPtr Changed(WatchEvent::Type type, const EventPtr& before, std::int64_t revision) {
  auto event = std::make_shared<StoreEvent>(*Added("pods", before->object->key().name, revision));
  event->type = type;
  event->previous = before->object;
  return event;
}

// "a@2 b@3": the objects with their revisions.
std::string Listed(const WatchCache::Part& part) {
  if (part.state == WatchCache::Part::State::kExpired) return "expired";
  std::string text;
  for (const StoredPtr& object : part.objects) {
    text +=
        (text.empty() ? "" : " ") + object->key().name + "@" + std::to_string(object->revision());
  }
  return part.more == 0 ? text : text + " and " + std::to_string(part.more);
}

TEST(WatchCacheTest, ListsShowEarlierRevisions) {
  using Type = WatchEvent::Type;
  WatchCache cache({.max_events = 6});
  const EventPtr a = Added("pods", "a", 2);
  const EventPtr b = Added("pods", "b", 3);
  cache.Publish({a, b, Added("pods", "d", 4)});
  const EventPtr newer = Changed(Type::kModified, a, 5);
  cache.Publish({newer, Changed(Type::kDeleted, b, 6), Added("pods", "c", 7)});
  const auto list = [&](std::int64_t revision, const std::string& after, std::size_t most) {
    return Listed(
        cache.ListAt("pods", {"", {after.empty() ? "" : "default", after}, most}, revision));
  };
  EXPECT_EQ(list(-1, "", 0), "a@5 c@7 d@4");
  EXPECT_EQ(list(7, "", 0), "a@5 c@7 d@4");
  EXPECT_EQ(list(6, "", 0), "a@5 d@4");
  EXPECT_EQ(list(5, "", 0), "a@5 b@3 d@4");
  EXPECT_EQ(list(4, "", 0), "a@2 b@3 d@4");
  EXPECT_EQ(list(3, "", 0), "a@2 b@3");
  EXPECT_EQ(list(1, "", 0), "");
  EXPECT_EQ(list(4, "", 2), "a@2 b@3 and 1");
  EXPECT_EQ(list(4, "b", 2), "d@4");
  EXPECT_EQ(Listed(cache.ListAt("pods", {"other", {}, 0}, 4)), "");
  EXPECT_EQ(Listed(cache.ListAt("pods", {"default", {}, 1}, 4)), "a@2 and 2");
  // The next change moves the window past the first one.
  cache.Publish({Changed(Type::kModified, newer, 8)});
  EXPECT_EQ(list(1, "", 0), "expired");
  EXPECT_EQ(list(2, "", 0), "a@2");
}

TEST(WatchCacheTest, ListAtAnUnknownRevisionExpires) {
  WatchCache cache({});
  auto changed = std::make_shared<StoreEvent>(*Added("pods", "a", 3));
  changed->type = WatchEvent::Type::kModified;
  cache.Publish({changed});
  EXPECT_EQ(Listed(cache.ListAt("pods", {}, 2)), "expired");
  EXPECT_EQ(Listed(cache.ListAt("pods", {}, 3)), "a@3");
}

EventPtr AddedAt(const std::string& name, std::int64_t revision, std::chrono::seconds time) {
  auto event = std::make_shared<StoreEvent>(*Added("pods", name, revision));
  event->time = WallTime(time);
  return event;
}

TEST(WatchCacheTest, RecentChangesStayUntilTheHardLimit) {
  WatchCache cache({.max_events = 2, .keep_for = std::chrono::seconds(75)});
  for (std::int64_t r = 2; r < 12; ++r) {
    cache.Publish({AddedAt("p" + std::to_string(r), r, std::chrono::seconds(r))});
  }
  EXPECT_EQ(cache.EventsAfter("pods", 1, 10).state, WatchCache::Changes::State::kOk);
  // Old events go, down to the usual number or the first young one.
  cache.Publish({AddedAt("late", 12, std::chrono::seconds(82))});
  EXPECT_EQ(cache.EventsAfter("pods", 6, 10).state, WatchCache::Changes::State::kExpired);
  EXPECT_EQ(cache.EventsAfter("pods", 7, 10).state, WatchCache::Changes::State::kOk);
  for (std::int64_t r = 13; r < 40; ++r) {
    cache.Publish({AddedAt("q" + std::to_string(r), r, std::chrono::seconds(82))});
  }
  EXPECT_EQ(cache.EventsAfter("pods", 39 - 2 * 8, 100).state, WatchCache::Changes::State::kOk);
  EXPECT_EQ(cache.EventsAfter("pods", 38 - 2 * 8, 100).state, WatchCache::Changes::State::kExpired);
}

TEST(WatchCacheTest, PositionsBeforeTheStartExpire) {
  WatchCache cache({});
  cache.Reset({}, {}, 50, 40);
  EXPECT_EQ(cache.EventsAfter("pods", 39, 10).state, WatchCache::Changes::State::kExpired);
  EXPECT_EQ(cache.EventsAfter("pods", 40, 10).state, WatchCache::Changes::State::kOk);
}

TEST(WatchCacheTest, ListsOneNamespaceInOrder) {
  WatchCache cache({});
  cache.Publish({Added("pods", "b", 2), Added("pods", "a", 3)});
  const auto snapshot = cache.List("pods", "default");
  ASSERT_EQ(snapshot.objects.size(), 2U);
  EXPECT_EQ(snapshot.objects[0]->key().name, "a");
  EXPECT_EQ(snapshot.revision, 3);
  EXPECT_TRUE(cache.List("pods", "defaul").objects.empty());
}

}  // namespace
}  // namespace berth::local
