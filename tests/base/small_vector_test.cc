#include "base/small_vector.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Words = SmallVector<std::string, 2>;

std::string Long(char c) { return std::string(40, c); }  // not within the string itself

TEST(SmallVectorTest, GrowsOutOfItsInlineElements) {
  Words words;
  EXPECT_THAT(words, IsEmpty());
  for (const char c : {'a', 'b', 'c', 'd', 'e'}) words.push_back(Long(c));
  EXPECT_THAT(words, ElementsAre(Long('a'), Long('b'), Long('c'), Long('d'), Long('e')));
  EXPECT_EQ(words.front(), Long('a'));
  EXPECT_EQ(words.back(), Long('e'));
  words.pop_back();
  EXPECT_EQ(words.size(), 4U);
  words.clear();
  EXPECT_TRUE(words.empty());
}

TEST(SmallVectorTest, AppendsItsOwnElementWhileGrowing) {
  Words words{Long('a'), Long('b')};
  words.push_back(words.front());
  EXPECT_THAT(words, ElementsAre(Long('a'), Long('b'), Long('a')));
}

TEST(SmallVectorTest, CopiesAndMovesInlineAndGrown) {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 9U}) {
    const std::vector<std::string> want(count, Long('x'));
    Words from(want.begin(), want.end());
    const Words copy = from;
    EXPECT_TRUE(std::equal(copy.begin(), copy.end(), want.begin(), want.end()));
    Words moved = std::move(from);
    EXPECT_EQ(moved, copy);
    Words assigned{Long('p'), Long('q'), Long('r')};
    assigned = copy;
    EXPECT_EQ(assigned, copy);
    Words taken{Long('p'), Long('q'), Long('r')};
    taken = std::move(moved);
    EXPECT_EQ(taken, copy);
    from = copy;  // a vector that was moved from can be used again
    EXPECT_EQ(from, copy);
    from = *&from;
    EXPECT_EQ(from, copy);
  }
}

TEST(SmallVectorTest, InsertsAndErases) {
  Words words{"b", "d"};
  words.insert(words.begin(), "a");
  words.insert(words.begin() + 2, "c");
  words.insert(words.end(), "e");
  EXPECT_THAT(words, ElementsAre("a", "b", "c", "d", "e"));
  words.erase(words.begin() + 1);
  words.erase(words.begin() + 2, words.end());
  EXPECT_THAT(words, ElementsAre("a", "c"));
  const std::vector<std::string> more{"x", "y"};
  words.insert(words.begin() + 1, more.begin(), more.end());
  EXPECT_THAT(words, ElementsAre("a", "x", "y", "c"));
  EXPECT_EQ(erase_if(words, [](const std::string& word) { return word > "m"; }), 2U);
  EXPECT_THAT(words, ElementsAre("a", "c"));
  EXPECT_EQ(words.erase(words.begin(), words.begin()), words.begin());
}

TEST(SmallVectorTest, ResizesAndTakesAggregatesAndMoveOnlyTypes) {
  struct Pair {
    int a = 0;
    int b = 0;
  };
  SmallVector<Pair, 1> pairs;
  pairs.emplace_back(1, 2);
  pairs.push_back({3, 4});
  EXPECT_EQ(pairs[1].b, 4);
  pairs.resize(3);
  EXPECT_EQ(pairs[2].a, 0);
  pairs.resize(1);
  EXPECT_EQ(pairs.size(), 1U);
  SmallVector<std::unique_ptr<int>, 1> owned;
  for (int i = 0; i < 4; ++i) owned.push_back(std::make_unique<int>(i));
  const SmallVector<std::unique_ptr<int>, 1> taken = std::move(owned);
  EXPECT_EQ(*taken[3], 3);
}

}  // namespace
}  // namespace berth
