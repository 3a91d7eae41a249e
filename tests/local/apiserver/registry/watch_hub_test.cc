// Goal: a watch in the process whose callback throws leaves the other watches whole.
// Method: a store in memory, two watches of one resource, of which one throws at every change.
#include "local/apiserver/registry/watch_hub.h"

#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/local/apiserver/store/writes.h"

namespace berth::local {
namespace {

TEST(WatchHubTest, ThrowingCallbackEndsNoThread) {
  auto store = Store::Open({});
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->Commit({CreateMap("known")}));
  std::promise<void> heard;
  std::string names;
  WatchHub hub(**store);
  const auto faulty = hub.Add("configmaps", [](const ObjectKey& /*key*/, const auto& /*event*/) {
    throw std::runtime_error("planted");
  });
  const auto whole = hub.Add("configmaps", [&](const ObjectKey& key, const auto& /*event*/) {
    names += key.name + " ";
    if (key.name == "last") heard.set_value();
  });
  ASSERT_TRUE((*store)->Commit({CreateMap("next")}));
  ASSERT_TRUE((*store)->Commit({CreateMap("last")}));
  heard.get_future().wait();
  EXPECT_EQ(names, "known next last ");
}

}  // namespace
}  // namespace berth::local
