// Goal: every known reason of autoscalers has a class and a remedy; unknown ones too.
#include "provisioning/reasons.h"

#include <set>

#include <gtest/gtest.h>

namespace berth::provisioning {
namespace {

TEST(ReasonsTest, EveryEntryIsComplete) {
  std::set<std::string_view> seen;
  for (const ReasonInfo& info : AllReasons()) {
    EXPECT_TRUE(seen.insert(info.reason).second) << info.reason << " stands twice";
    EXPECT_FALSE(info.remedy.empty()) << info.reason;
    EXPECT_FALSE(ReasonClassName(info.reason_class).empty());
    EXPECT_FALSE(WhoActsName(info.who).empty());
  }
  EXPECT_GT(seen.size(), 40U);
}

TEST(ReasonsTest, Classes) {
  EXPECT_EQ(Explain("ResourcePoolExhausted").reason_class, ReasonClass::kStockout);
  EXPECT_EQ(Explain("NodepoolSizeReached").reason_class, ReasonClass::kTransient);
  EXPECT_EQ(Explain("QuotaExceeded").who, WhoActs::kAdmin);
  EXPECT_EQ(Explain("NoQueuedNodepoolAvailable").reason_class, ReasonClass::kConfig);
  EXPECT_EQ(Explain("SomethingNew").reason_class, ReasonClass::kInternal);
  EXPECT_EQ(Explain("SomethingNew").reason, "");
}

}  // namespace
}  // namespace berth::provisioning
