// Goal: tables line up, wrap between words only, and bars say how full something is.
#include "view/screens/text.h"

#include <gtest/gtest.h>

namespace berth::view {
namespace {

TEST(TextTable, AlignsColumnsByVisibleWidth) {
  TextTable table({{"NAME"}, {"N", Align::kRight}, {"REASON"}});
  table.AddRow({"é", "1", "short"});
  table.AddRow({"abc", "22", ""});
  EXPECT_EQ(table.Render({}),
            "NAME   N  REASON\n"
            "é      1  short\n"
            "abc   22\n");
}

TEST(TextTable, WrapsTheLastColumnOnATerminalOnly) {
  TextTable table({{"NAME"}, {"REASON"}});
  const std::string reason = "quota: nvidia.com/gpu in flavor t4: needs 4, 1 free of 8";
  table.AddRow({"a", reason});
  EXPECT_NE(table.Render({}).find(reason), std::string::npos);
  EXPECT_EQ(table.Render({.width = 40}),
            "NAME  REASON\n"
            "a     quota: nvidia.com/gpu in flavor\n"
            "      t4: needs 4, 1 free of 8\n");
}

TEST(Bar, ShowsShares) {
  const TextStyle ascii{.ascii = true};
  EXPECT_EQ(Bar(16, 20, ascii), "########..");
  EXPECT_EQ(Bar(10, 8, ascii), "##########");
  EXPECT_EQ(Bar(0, 8, ascii), "..........");
  EXPECT_EQ(Bar(1, 1000, ascii), "#.........");
  EXPECT_EQ(Bar(3, 0, ascii), "##########");
  EXPECT_EQ(Bar(1, 2, {}), "█████░░░░░");
}

TEST(ShowAmount, ShowsAmountsInPlaceOfNoLimitAsInfinite) {
  EXPECT_EQ(ShowAmount("nvidia.com/gpu", 1'000'000'000, {}), "∞");
  EXPECT_EQ(ShowAmount("cpu", 1'000'000'000'000, {}), "∞");
  EXPECT_EQ(ShowAmount("memory", 1073741824000000000, {}), "∞");
  EXPECT_EQ(ShowAmount("memory", 4294967296, {}), "4Gi");
  EXPECT_EQ(ShowAmount("cpu", 1500, {}), "1500m");
  EXPECT_EQ(ShowAmount("berth.dev/gpus", 1'000'000'000'000'000, {}), "∞");
}

TEST(ShowAmount, ShowsGpusInHundredths) {
  EXPECT_EQ(ShowAmount("berth.dev/gpus", 0, {}), "0");
  EXPECT_EQ(ShowAmount("berth.dev/gpus", 333'333, {}), "0.33");
  EXPECT_EQ(ShowAmount("berth.dev/gpus", 999'999, {}), "1");
  EXPECT_EQ(ShowAmount("berth.dev/gpus", 1'500'000, {}), "1.5");
  EXPECT_EQ(ShowAmount("berth.dev/gpus", 40'000'000, {}), "40");
}

}  // namespace
}  // namespace berth::view
