// Goal: a stored difference gives the text back, and takes no copy of what two texts share. Method:
// rows; texts of a few letters at random, each against each.

#include "api/template_text.h"

#include <string>

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::api {
namespace {

TemplateText WholeOf(const std::string& text) {
  return TemplateText(std::make_shared<const std::string>(text));
}

TEST(TemplateTextTest, GivesTheTextBack) {
  struct TextRow {
    const char* base;
    const char* text;
    bool whole;  // the text of the base itself
  };
  const TextRow rows[] = {
      {"seed=1 end", "seed=1 end", true},
      {"seed=1 end", "seed=27 end", false},
      {"seed=1 end", "seed= end", false},
      {"seed=1 end", "", false},
      {"", "seed", false},
      {"aaa", "aa", false},
      {"aa", "aaa", false},
      {"abab", "abababab", false},
  };
  for (const TextRow& row : rows) {
    SCOPED_TRACE(row.text);
    const TemplateText base = WholeOf(row.base);
    const TemplateText text(row.text, base);
    EXPECT_EQ(*text.Whole(), row.text);
    EXPECT_EQ(text.Whole() == base.Whole(), row.whole);
  }
}

TEST(TemplateTextTest, NoTextIsNull) {
  EXPECT_EQ(TemplateText().Whole(), nullptr);
  EXPECT_EQ(TemplateText(nullptr).Whole(), nullptr);
  EXPECT_EQ(*TemplateText("a", TemplateText()).Whole(), "a");
}

TEST(TemplateTextTest, RandomTextsComeBackFromEachBase) {
  Random random(3);
  const auto make = [&random] {
    std::string text;
    for (std::uint64_t left = random.Below(12); left > 0; --left) {
      text += static_cast<char>('a' + random.Below(2));
    }
    return text;
  };
  TemplateText similar = WholeOf(make());
  for (int round = 0; round < 2000; ++round) {
    const std::string text = make();
    const TemplateText stored(text, similar);
    ASSERT_EQ(*stored.Whole(), text) << *similar.Whole();
    if (round % 3 == 0) similar = stored;  // a difference may be the base of the next one
  }
}

}  // namespace
}  // namespace berth::api
