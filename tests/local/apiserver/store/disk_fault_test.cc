// Goal: on a disk that fails, or loses unsynced writes, an acknowledged write stays, a refused one
// has not happened, and after an unknown outcome the store takes no writes. Method: the store over
// FaultVfs, with the fault at every position; after each the database is opened again, on the kept
// bytes.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local/apiserver/store/store.h"
#include "tests/local/apiserver/store/fault_vfs.h"
#include "tests/local/apiserver/store/temp_folder.h"
#include "tests/local/apiserver/store/writes.h"

namespace berth::local {
namespace {

using ::testing::HasSubstr;

class DiskFaultTest : public ::testing::Test {
 protected:
  std::unique_ptr<Store> Open() {
    StoreOptions options;
    options.path = folder_.File("state.db");
    auto store = Store::Open(options);
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }
  // Creates up to `most` objects until one fails; returns the acknowledged names.
  static std::set<std::string> WriteUntilFailure(Store& store, int most,
                                                 std::size_t bytes = kSmallMap) {
    std::set<std::string> acknowledged;
    for (int i = 0; i < most; ++i) {
      const std::string name = "m" + std::to_string(i);
      if (!store.Commit({CreateMap(name, bytes)})) break;
      acknowledged.insert(name);
    }
    return acknowledged;
  }
  static std::set<std::string> Names(const Store& store) {
    std::set<std::string> names;
    for (const StoredPtr& object : store.cache().List("configmaps", "").objects) {
      EXPECT_NE(object->json(), nullptr) << object->key().name << " is torn";
      names.insert(object->key().name);
    }
    return names;
  }
  static std::set<std::string> Missing(const std::set<std::string>& wanted,
                                       const std::set<std::string>& there) {
    std::set<std::string> missing;
    for (const std::string& name : wanted) {
      if (!there.contains(name)) missing.insert(name);
    }
    return missing;
  }
  // The number of acknowledged writes lost by a power failure at write `nth`.
  std::size_t LostAt(int nth, std::uint64_t seed, bool ignore_syncs) {
    const TempFolder folder;
    StoreOptions options;
    options.path = folder.File("state.db");
    std::set<std::string> acknowledged;
    {
      auto store = Store::Open(options);
      EXPECT_TRUE(store) << store.error().message;
      EXPECT_TRUE((*store)->Commit({CreateMap("first")}));
      if (ignore_syncs) vfs_.IgnoreSyncs();
      vfs_.FailWrite(nth, FaultVfs::WriteFault::kPowerOff);
      // Larger objects, so that the write-ahead log is checkpointed meanwhile.
      acknowledged = WriteUntilFailure(**store, 120, 100'000);
    }
    acknowledged.insert("first");
    EXPECT_TRUE(vfs_.has_failed()) << "write " << nth << " never came";
    vfs_.Lose(seed);
    auto store = Store::Open(options);
    if (!store) return acknowledged.size();  // damaged
    return Missing(acknowledged, Names(**store)).size();
  }

  FaultVfs vfs_;
  const TempFolder folder_;
};

// Every write of the first ones, then some up to the checkpoints of the log. In parts: under
// ThreadSanitizer, beside other programs, one test of all takes minutes.
struct FailedWrites {
  int first;
  int end;
  int step;
  std::uint64_t seed;  // the seed of the first one
};

class PowerFailureTest : public DiskFaultTest,
                         public ::testing::WithParamInterface<FailedWrites> {};

TEST_P(PowerFailureTest, PowerFailureLosesNoAcknowledgedWrite) {
  std::uint64_t seed = GetParam().seed;
  for (int nth = GetParam().first; nth < GetParam().end; nth += GetParam().step) {
    EXPECT_EQ(LostAt(nth, seed++, false), 0U) << "write " << nth;
  }
}

INSTANTIATE_TEST_SUITE_P(Writes, PowerFailureTest,
                         ::testing::Values(FailedWrites{0, 20, 1, 0}, FailedWrites{20, 40, 1, 20},
                                           FailedWrites{40, 1033, 331, 40},
                                           FailedWrites{1033, 2026, 331, 43},
                                           FailedWrites{2026, 3019, 331, 46},
                                           FailedWrites{3019, 4000, 331, 49}),
                         [](const auto& row) { return "From" + std::to_string(row.param.first); });

// The tests above detect a database that does not sync (synchronous=OFF, a lying disk).
TEST_F(DiskFaultTest, PowerFailureWithoutSyncsLosesAcknowledgedWrites) {
  std::size_t lost = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) lost += LostAt(100, seed, true);
  EXPECT_GT(lost, 0U);
}

TEST_F(DiskFaultTest, WriteWithoutSpaceFailsAndLaterWritesSucceed) {
  int struck = 0;
  for (const auto fault : {FaultVfs::WriteFault::kNoSpace, FaultVfs::WriteFault::kShort}) {
    for (int nth = 0; nth < 12; ++nth) {
      const TempFolder folder;
      StoreOptions options;
      options.path = folder.File("state.db");
      std::set<std::string> acknowledged;
      {
        auto store = Store::Open(options);
        ASSERT_TRUE(store) << store.error().message;
        ASSERT_TRUE((*store)->Commit({CreateMap("first")}));
        vfs_.FailWrite(nth, fault);
        for (int i = 0; i < 6; ++i) {
          const std::string name = "m" + std::to_string(i);
          if ((*store)->Commit({CreateMap(name)})) acknowledged.insert(name);
        }
        struck += acknowledged.size() == 5 ? 1 : 0;
        EXPECT_GE(acknowledged.size(), 5U) << "one failure refused more than one write";
        EXPECT_TRUE((*store)->Health());
      }
      vfs_.Lose(static_cast<std::uint64_t>(nth));
      acknowledged.insert("first");
      auto store = Store::Open(options);
      ASSERT_TRUE(store) << store.error().message;
      EXPECT_EQ(Names(**store), acknowledged) << "write " << nth;
    }
  }
  EXPECT_GE(struck, 12);
}

TEST_F(DiskFaultTest, DiskErrorStopsWritesAndKeepsReads) {
  for (const auto fault : {FaultVfs::WriteFault::kError, FaultVfs::WriteFault::kFalseError}) {
    const TempFolder folder;
    StoreOptions options;
    options.path = folder.File("state.db");
    {
      auto store = Store::Open(options);
      ASSERT_TRUE(store) << store.error().message;
      ASSERT_TRUE((*store)->Commit({CreateMap("first")}));
      vfs_.FailWrite(1, fault, "-wal");
      EXPECT_FALSE((*store)->Commit({CreateMap("unknown")}));
      EXPECT_FALSE((*store)->Health());
      const auto later = (*store)->Commit({CreateMap("later")});
      ASSERT_FALSE(later);
      EXPECT_EQ(later.error().code, ErrorCode::kUnavailable);
      EXPECT_THAT(later.error().message, HasSubstr("until berth is started again"));
      EXPECT_NE((*store)->cache().Get({"configmaps", "default", "first"}), nullptr);
    }
    vfs_.Lose(0);
    auto store = Store::Open(options);
    ASSERT_TRUE(store) << store.error().message;
    EXPECT_EQ(Missing({"first"}, Names(**store)).size(), 0U);
    EXPECT_TRUE((*store)->Commit({CreateMap("again")}));
  }
}

TEST_F(DiskFaultTest, FailedSyncStopsWrites) {
  std::set<std::string> acknowledged;
  {
    auto store = Open();
    acknowledged = WriteUntilFailure(*store, 5);
    ASSERT_EQ(acknowledged.size(), 5U);
    vfs_.FailSync(0, "-wal");
    EXPECT_FALSE(store->Commit({CreateMap("unknown")}));
    EXPECT_FALSE(store->Health());
    // The disk syncs again, and would lose the writes of the failed sync.
    EXPECT_FALSE(store->Commit({CreateMap("later")}));
  }
  vfs_.Lose(0);
  auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Names(*store), acknowledged);
}

TEST_F(DiskFaultTest, FailedSyncOfACheckpointStopsWrites) {
  std::set<std::string> acknowledged;
  {
    auto store = Open();
    vfs_.FailSync(0, "state.db");
    acknowledged = WriteUntilFailure(*store, 400, 100'000);
    EXPECT_TRUE(vfs_.has_failed());
    EXPECT_LT(acknowledged.size(), 400U);
    EXPECT_FALSE(store->Health());
  }
  vfs_.Lose(0);
  auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Missing(acknowledged, Names(*store)).size(), 0U);
}

}  // namespace
}  // namespace berth::local
