// Goal: a backup taken during writes is one revision's state; a server on the backup works, and no
// client of the original store mistakes it for that store.
#include "local/apiserver/store/backup.h"

#include <atomic>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local/apiserver/store/store.h"
#include "tests/local/apiserver/store/temp_folder.h"
#include "tests/local/apiserver/store/writes.h"

namespace berth::local {
namespace {

class BackupTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open(const std::string& path, std::int64_t first_revision = 1) {
    StoreOptions options;
    options.path = path;
    options.first_revision = first_revision;
    auto store = Store::Open(options);
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }
  const TempFolder folder_;
  const std::string live_ = folder_.File("live.db");
  const std::string copy_ = folder_.File("copy.db");
};

TEST_F(BackupTest, BackupDuringWritesHasTheStateOfOneRevision) {
  auto store = Open(live_);
  ASSERT_TRUE(store->Commit({CreateMap("first")}));
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) EXPECT_TRUE(store->Commit({CreateMap("m" + std::to_string(i))}));
  });
  const auto backup = WriteBackup(store->cache(), copy_);
  stop = true;
  writer.join();
  ASSERT_TRUE(backup) << backup.error().message;
  auto copy = Open(copy_);
  ASSERT_NE(copy, nullptr);
  const auto objects = copy->cache().List("configmaps", "").objects;
  EXPECT_EQ(objects.size(), backup->objects);
  // Every write made one object: a state without gaps has one for each revision.
  EXPECT_EQ(static_cast<std::int64_t>(objects.size()), backup->revision - 1);
  for (const StoredPtr& object : objects) {
    const StoredPtr original = store->cache().Get(object->key());
    ASSERT_NE(original, nullptr);
    EXPECT_EQ(object->Typed(), original->Typed());
  }
}

TEST_F(BackupTest, RestoredStoreBeginsAboveRevisionsThatClientsSaw) {
  auto store = Open(live_, 1'000);
  ASSERT_TRUE(store->Commit({CreateMap("a")}));
  ASSERT_TRUE(WriteBackup(store->cache(), copy_));
  const StoredPtr later = store->Commit({CreateMap("b")})->front();
  {
    auto copy = Open(copy_, 5'000);  // the clock has advanced
    EXPECT_NE(copy->epoch(), store->epoch());
    EXPECT_EQ(copy->cache().EventsAfter("configmaps", later->revision(), 1).state,
              WatchCache::Changes::State::kExpired);
    EXPECT_EQ(copy->Commit({CreateMap("c")})->front()->revision(), 5'001);
  }
  // Only the first open begins anew: afterwards it is an ordinary database.
  auto again = Open(copy_, 9'000);
  EXPECT_EQ(again->Commit({CreateMap("d")})->front()->revision(), 5'002);
  EXPECT_EQ(again->cache().EventsAfter("configmaps", 5'000, 1).state,
            WatchCache::Changes::State::kOk);
}

TEST_F(BackupTest, BackupIsOneFileAndReplacesTheLast) {
  auto store = Open(live_);
  ASSERT_TRUE(store->Commit({CreateMap("a")}));
  ASSERT_TRUE(WriteBackup(store->cache(), copy_));
  ASSERT_TRUE(store->Commit({CreateMap("b")}));
  ASSERT_TRUE(WriteBackup(store->cache(), copy_));
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    const std::string name = file.path().filename().string();
    EXPECT_TRUE(name == "copy.db" || name.starts_with("live.db")) << name;
  }
  EXPECT_EQ(std::filesystem::status(copy_).permissions(), std::filesystem::perms(0600));
  auto copy = Open(copy_);
  EXPECT_EQ(copy->cache().List("configmaps", "").objects.size(), 2U);
}

TEST_F(BackupTest, MissingFolderIsNamed) {
  auto failed = WriteBackup(WatchCache({}), "/proc/nowhere/copy.db");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, ::testing::HasSubstr("/proc/nowhere"));
}

}  // namespace
}  // namespace berth::local
