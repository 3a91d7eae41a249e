#include "base/shared_list.h"

#include <atomic>
#include <string>
#include <thread>
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

TEST(SharedList, EveryMutationLeavesACopyUnchanged) {
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

TEST(SharedList, SoleOwnerChangesInPlace) {
  List list = {"x", "y"};
  const std::string* first = std::as_const(list).begin();
  list[0] = "z";
  EXPECT_EQ(std::as_const(list).begin(), first);
}

TEST(SharedList, EmptyListsCanBeReadAndChanged) {
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

// Each thread has its own copy, reads it and drops it; the last owner writes in place. The thread
// sanitizer reports a write that is not ordered after the others' reads.
TEST(SharedList, CopiesOfOtherThreadsAreReadBeforeTheLastOwnerWrites) {
  for (int round = 0; round < 200; ++round) {
    List list = {"x", "y"};
    std::atomic<std::size_t> read = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([copy = list, &read]() mutable {
        read += std::as_const(copy)[1].size();
        copy.clear();
      });
    }
    list[1] = "changed";
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(read, 2U);
    EXPECT_EQ(Items(list), (std::vector<std::string>{"x", "changed"}));
  }
}

TEST(SharedList, AssignmentReplacesTheElements) {
  List a = {"x"};
  List b = {"y"};
  const List& itself = a;
  a = itself;
  EXPECT_EQ(Items(a), (std::vector<std::string>{"x"}));
  a = std::move(b);
  EXPECT_EQ(Items(a), (std::vector<std::string>{"y"}));
  List c = std::move(a);
  c = List();
  EXPECT_TRUE(c.empty());
}

}  // namespace
}  // namespace berth
