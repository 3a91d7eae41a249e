#include "base/shared_list.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace berth {
namespace {

using List = SharedList<std::string>;

std::vector<std::string> Items(const List& list) { return {list.begin(), list.end()}; }

TEST(SharedList, CopiesShareUntilOneIsChanged) {
  const List a = {"x", "y"};
  List b = a;
  EXPECT_EQ(std::as_const(b).begin(), a.begin());
  b[0] = "z";
  EXPECT_EQ(Items(a), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(Items(b), (std::vector<std::string>{"z", "y"}));
}

TEST(SharedList, EveryWayOfChangingLeavesTheCopyAlone) {
  const std::vector<void (*)(List&)> ways = {
      [](List& list) { list.push_back("z"); },
      [](List& list) { list.emplace_back("z"); },
      [](List& list) { list.front() = "z"; },
      [](List& list) { list.back() = "z"; },
      [](List& list) { list.clear(); },
      [](List& list) { list = {"z"}; },
      [](List& list) { *list.begin() = "z"; },
      [](List& list) { *(list.end() - 1) = "z"; },
      [](List& list) { list.push_back(list[0]); },
  };
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const List kept = {"x", "y"};
    List changed = kept;
    ways[i](changed);
    EXPECT_EQ(Items(kept), (std::vector<std::string>{"x", "y"})) << "way " << i;
    EXPECT_NE(Items(changed), Items(kept)) << "way " << i;
  }
}

TEST(SharedList, AnOwnerAloneChangesInPlace) {
  List list = {"x", "y"};
  const std::string* first = std::as_const(list).begin();
  list[0] = "z";
  EXPECT_EQ(std::as_const(list).begin(), first);
}

TEST(SharedList, EmptyOnesAreOrdinary) {
  const List none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.begin(), none.end());
  const std::vector<std::string>& items = none;
  EXPECT_TRUE(items.empty());
  List list;
  EXPECT_EQ(list.begin(), list.end());
  list.push_back("x");
  EXPECT_EQ(list.at(0), "x");
  EXPECT_EQ(list.size(), 1U);
}

}  // namespace
}  // namespace berth
