// Goal: a watch in the process is told its state and its changes in their order, whatever the
// others do. Method: a store in memory.
#include "local/apiserver/registry/watch_hub.h"

#include <algorithm>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/local/apiserver/store/writes.h"

namespace berth::local {
namespace {

// Two watches of one resource, of which one throws at every change.
TEST(WatchHubTest, ThrowingCallbackEndsNoThread) {
  auto store = Store::Open({});
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->Commit({CreateMap("known")}));
  std::promise<void> heard;
  std::string names;
  WatchHub hub(**store);
  const auto faulty = hub.Add(
      "configmaps", WatchFrom::kState,
      [](const ObjectKey& /*key*/, const auto& /*event*/) { throw std::runtime_error("planted"); });
  const auto whole =
      hub.Add("configmaps", WatchFrom::kState, [&](const ObjectKey& key, const auto& /*event*/) {
        names += key.name + " ";
        if (key.name == "last") heard.set_value();
      });
  ASSERT_TRUE((*store)->Commit({CreateMap("next")}));
  ASSERT_TRUE((*store)->Commit({CreateMap("last")}));
  heard.get_future().wait();
  EXPECT_EQ(names, "known next last ");
}

// Pieces of a state are smaller than this one.
TEST(WatchHubTest, LargeStateIsToldWholeAndBeforeItsChanges) {
  constexpr int kObjects = 1000;
  auto store = Store::Open({});
  ASSERT_TRUE(store);
  for (int i = 0; i < kObjects; ++i) {
    ASSERT_TRUE((*store)->Commit({CreateMap("known-" + std::to_string(1000 + i))}));
  }
  std::promise<void> heard;
  std::vector<std::string> names;
  WatchHub hub(**store);
  const auto watch =
      hub.Add("", WatchFrom::kState, [&](const ObjectKey& key, const auto& /*event*/) {
        names.push_back(key.name);
        if (key.name == "last") heard.set_value();
      });
  ASSERT_TRUE((*store)->Commit({CreateMap("last")}));
  heard.get_future().wait();
  ASSERT_EQ(names.size(), kObjects + 1U);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end() - 1));
}

TEST(WatchHubTest, WatchFromNowIsToldChangesAlone) {
  auto store = Store::Open({});
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->Commit({CreateMap("known")}));
  std::promise<std::string> heard;
  WatchHub hub(**store);
  const auto watch =
      hub.Add("configmaps", WatchFrom::kNow,
              [&](const ObjectKey& key, const auto& /*event*/) { heard.set_value(key.name); });
  ASSERT_TRUE((*store)->Commit({CreateMap("next")}));
  EXPECT_EQ(heard.get_future().get(), "next");
}

// Another watcher's changes come between the pieces of a state, and a watch may end in its state.
TEST(WatchHubTest, WatchMayEndInTheMiddleOfItsState) {
  auto store = Store::Open({});
  ASSERT_TRUE(store);
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE((*store)->Commit({CreateMap("known-" + std::to_string(i))}));
  }
  WatchHub hub(**store);
  std::promise<void> may_end;
  std::promise<void> ended;
  int told = 0;
  std::unique_ptr<WatchHandle> watch;
  watch = hub.Add("configmaps", WatchFrom::kState, [&](const ObjectKey&, const auto&) {
    if (++told == 1) may_end.get_future().wait();
    if (told != 300) return;
    watch.reset();
    ended.set_value();
  });
  may_end.set_value();  // `watch` is set
  ended.get_future().wait();
  std::promise<void> heard;
  const auto other = hub.Add("configmaps", WatchFrom::kNow,
                             [&](const ObjectKey&, const auto&) { heard.set_value(); });
  ASSERT_TRUE((*store)->Commit({CreateMap("last")}));
  heard.get_future().wait();
  EXPECT_EQ(told, 300);
}

}  // namespace
}  // namespace berth::local
