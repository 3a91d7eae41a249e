// Goal: heads come in the order of their queues' names, after any additions and removals. Method:
// random steps on a HeadIndex and on a plain map; after each step both agree. Queues come in
// falling, rising and random order, so that blocks are divided and emptied at either end.
#include "queue/head_index.h"

#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::queue {
namespace {

class HeadIndexTest : public ::testing::Test {
 protected:
  ClusterQueueId Number(int name) {
    const std::string digits = std::to_string(name);
    return names_.Intern("q" + std::string(6 - digits.size(), '0') + digits);
  }
  void Add(int name) {
    index_.Add(Number(name));
    has_head_[names_[Number(name)]] = false;
  }
  void Remove(int name) {
    index_.Remove(Number(name));
    has_head_.erase(names_[Number(name)]);
  }
  void SetHead(int name, bool has_head) {
    index_.SetHead(Number(name), has_head);
    const auto known = has_head_.find(names_[Number(name)]);
    if (known != has_head_.end()) known->second = has_head;
  }
  void ExpectSame() {
    std::vector<std::string> expected;
    for (const auto& [name, has_head] : has_head_) {
      if (has_head) expected.push_back(name);
    }
    std::vector<std::string> heads;
    index_.ForEachHead([&](ClusterQueueId queue) { heads.push_back(names_[queue]); });
    ASSERT_EQ(heads, expected);
    ASSERT_EQ(index_.HasHeads(), !expected.empty());
    std::map<std::string, int> present;
    index_.ForEach([&](ClusterQueueId queue) { ++present[names_[queue]]; });
    ASSERT_EQ(present.size(), has_head_.size());
    for (const auto& [name, times] : present) {
      ASSERT_EQ(times, 1) << name;
      ASSERT_TRUE(has_head_.contains(name)) << name;
    }
  }

  HeadIndex index_;
  Names& names_ = index_.names();
  std::map<std::string, bool> has_head_;
};

TEST_F(HeadIndexTest, FindsHeadsOfNamesAddedInRisingAndFallingOrder) {
  for (int name = 500; name < 1000; ++name) {
    Add(name);
    SetHead(name, name % 3 == 0);
  }
  ExpectSame();
  for (int name = 499; name >= 0; --name) {
    Add(name);
    SetHead(name, name % 3 == 0);
  }
  ExpectSame();
  for (int name = 0; name < 700; ++name) Remove(name);
  ExpectSame();
  for (int name = 300; name >= 0; --name) {
    Add(name);
    SetHead(name, true);
  }
  ExpectSame();
  for (int name = 0; name < 301; ++name) Remove(name);
  for (int name = 700; name < 1000; ++name) Remove(name);
  ExpectSame();
}

TEST_F(HeadIndexTest, AnAbsentQueueHasNoHead) {
  SetHead(1, true);
  ExpectSame();
  Add(1);
  ExpectSame();
  SetHead(1, true);
  Remove(1);
  ExpectSame();
}

TEST_F(HeadIndexTest, AgreesWithASortedMapAfterRandomSteps) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    std::mt19937 random(seed);
    const auto draw = [&random](int bound) {
      return static_cast<int>(random() % static_cast<unsigned>(bound));
    };
    for (int step = 0; step < 4000; ++step) {
      const int name = draw(400);
      const bool present = index_.Has(Number(name));
      // Now more come, now more go.
      const bool grows = step / 500 % 2 == 0;
      const int kind = draw(4);
      if (kind == 0) {
        SetHead(name, draw(2) == 0);
      } else if (!present && (grows || kind == 1)) {
        Add(name);
      } else if (present && (!grows || kind == 1)) {
        Remove(name);
      }
      if (step % 7 == 0) ExpectSame();
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace berth::queue
