// Goal: pages carry what a client continues with: the next page, the events behind the page, a tag
// that changes with the rows it may see and with nothing else.
//
// Method: whole answers of a small model.
#include "readapi/model.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/readapi/rows.h"

namespace berth::readapi {
namespace {

using ::testing::ElementsAre;
using Json = nlohmann::json;

TEST(ModelTest, PageHasACursorAndTheRevision) {
  Model model("epoch1");
  for (const char* name : {"a", "b", "c"}) model.Put(kWorkloads, MakeRow({.name = name}));
  Query query;
  query.limit = 2;
  const Json first = Json::parse(model.ReadPage(kWorkloads, query, kEverywhere).body);
  EXPECT_EQ(first.at("items").size(), 2U);
  EXPECT_EQ(first.at("revision"), "epoch1.3");
  const auto next = DecodePageCursor(first.at("next").get<std::string>());
  ASSERT_TRUE(next.has_value());
  query.after = *next;
  const Json last = Json::parse(model.ReadPage(kWorkloads, query, kEverywhere).body);
  EXPECT_EQ(last.at("items").size(), 1U);
  EXPECT_FALSE(last.contains("next"));
}

TEST(ModelTest, ETagChangesOnlyWithVisibleRows) {
  Model model("e");
  model.Put(kWorkloads, MakeRow({}));
  const Sight tenant{false, {"team-a"}};
  const auto tag = [&](const Sight& sight) { return model.ReadPage(kWorkloads, {}, sight).etag; };
  const std::string of_tenant = tag(tenant);
  const std::string of_all = tag(kEverywhere);
  model.Put(kWorkloads, MakeRow({.space = "team-b"}));
  EXPECT_EQ(tag(tenant), of_tenant);
  EXPECT_NE(tag(kEverywhere), of_all);
  model.Put(kWorkloads, MakeRow({.state = "running"}));
  EXPECT_NE(tag(tenant), of_tenant);
}

TEST(ModelTest, CachedPageIsForItsQueryAndSightUntilAChange) {
  Model model("e");
  model.Put(kWorkloads, MakeRow({.space = "a", .name = "one"}));
  model.Put(kWorkloads, MakeRow({.space = "b", .name = "two"}));
  const Sight all{.everywhere = true, .namespaces = {}};
  const Sight of_a{.everywhere = false, .namespaces = {"a"}};
  const auto ids = [&model](const Query& query, const Sight& sight) {
    std::vector<std::string> found;
    const Json page = Json::parse(model.ReadPage(kWorkloads, query, sight).body);
    for (const Json& row : page.at("items")) found.push_back(row.at("id"));
    return found;
  };
  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(ids({}, all), ElementsAre("a/one", "b/two"));
    EXPECT_THAT(ids({}, of_a), ElementsAre("a/one"));
    EXPECT_THAT(ids({.limit = 1}, all), ElementsAre("a/one"));
  }
  model.Remove(kWorkloads, "a/one");
  EXPECT_THAT(ids({}, all), ElementsAre("b/two"));
  EXPECT_THAT(ids({}, of_a), ElementsAre());
}

TEST(ModelTest, TextsOfObjectsCannotBreakJsonOrTheStream) {
  Model model("e");
  model.Put(kWorkloads, MakeRow({.remark = "\"}],\n\ndata: evil\n\xff<script>"}));
  const Json page = Json::parse(model.ReadPage(kWorkloads, {}, kEverywhere).body);
  EXPECT_EQ(page.at("items").at(0).at("remark"), "\"}],\n\ndata: evil\n\xEF\xBF\xBD<script>");
  const Sights sights(Resources().size(), std::make_shared<const Sight>(kEverywhere));
  const std::string text = model.feed().Read(0, sights, 100'000).text;
  // One event: a line feed in a text ends no line of the stream.
  EXPECT_EQ(text.find("\n\n"), text.size() - 2);
  EXPECT_EQ(text.find("\ndata: evil"), std::string::npos);
}

}  // namespace
}  // namespace berth::readapi
