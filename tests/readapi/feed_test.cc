// Goal: a subscriber hears of every change it may see, once; or is told to list again.
//
// Method: changes through Model, since Feed's texts come from there; rings of a few changes.
#include "readapi/feed.h"

#include <gmock/gmock.h>

#include "tests/readapi/rows.h"

namespace berth::readapi {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kPlenty = 1'000'000;

Sights SightsOf(const Sight& sight) {
  return Sights(Resources().size(), std::make_shared<const Sight>(sight));
}

std::string TextOf(const Model& model, std::uint64_t position, const Sight& sight) {
  return model.feed().Read(position, SightsOf(sight), kPlenty).text;
}

TEST(FeedTest, DeltasHaveOnlyChangedFields) {
  Model model("e");
  model.Put(kWorkloads, MakeRow({}));
  model.Put(kWorkloads, MakeRow({}));  // nothing differs
  model.Put(kWorkloads, MakeRow({.state = "running"}));
  model.Remove(kWorkloads, "team-a/w");
  EXPECT_EQ(model.feed().revision(), 3U);
  EXPECT_THAT(TextOf(model, 0, kEverywhere),
              HasSubstr("event: change\nid: e.1\ndata: {\"resource\":\"workloads\",\"row\":"
                        "{\"id\":\"team-a/w\",\"namespace\":\"team-a\","));
  EXPECT_EQ(TextOf(model, 1, kEverywhere),
            "event: change\nid: e.2\n"
            "data: {\"resource\":\"workloads\",\"set\":{\"id\":\"team-a/w\",\"state\":\"running\"}}"
            "\n\nevent: change\nid: e.3\n"
            "data: {\"resource\":\"workloads\",\"removed\":{\"id\":\"team-a/w\"}}\n\n");
  EXPECT_EQ(TextOf(model, 3, kEverywhere), "");
}

TEST(FeedTest, TenantReceivesOnlyRowsAndFieldsOfItsNamespace) {
  Model model("e");
  const Sight tenant{false, {"team-a"}};
  model.Put(kWorkloads, MakeRow({.space = "team-b", .name = "secret"}));
  model.Put(kWorkloads, MakeRow({.not_preempted = R"(["team-b/secret"])"}));
  model.Put(kWorkloads, MakeRow({.not_preempted = R"(["team-b/secret","x"])"}));
  model.Remove(kWorkloads, "team-b/secret");
  const std::string text = TextOf(model, 0, tenant);
  EXPECT_THAT(text, HasSubstr("team-a/w"));
  EXPECT_THAT(text, Not(HasSubstr("team-b")));
  // The third change is in a field that the tenant may not read: no event at all.
  EXPECT_EQ(TextOf(model, 2, tenant), "");
  EXPECT_THAT(TextOf(model, 2, kEverywhere), HasSubstr("notPreempted"));
}

TEST(FeedTest, ChangeOfAudienceSendsTheRowOrItsRemoval) {
  Model model("e");
  model.Put(kQueues, MakeQueueRow("q", 1, AudienceOf({"team-a"})));
  model.Put(kQueues, MakeQueueRow("q", 2, AudienceOf({"team-b"})));
  EXPECT_THAT(TextOf(model, 1, {false, {"team-a"}}), HasSubstr("\"removed\":{\"id\":\"q\"}"));
  EXPECT_THAT(TextOf(model, 1, {false, {"team-b"}}), HasSubstr("\"row\":{\"id\":\"q\""));
  EXPECT_THAT(TextOf(model, 1, {false, {"team-a", "team-b"}}), HasSubstr("\"row\":"));
  EXPECT_EQ(TextOf(model, 1, {false, {"team-c"}}), "");
  model.Put(kQueues, MakeQueueRow("q", 2, nullptr));
  EXPECT_THAT(TextOf(model, 2, {false, {"team-b"}}), HasSubstr("\"removed\""));
}

TEST(FeedTest, ResourcesWithoutASubscriptionSendNothing) {
  Model model("e");
  model.Put(kWorkloads, MakeRow({}));
  Sights sights(Resources().size());
  sights[kQueues] = std::make_shared<const Sight>(kEverywhere);
  const Feed::Batch batch = model.feed().Read(0, sights, kPlenty);
  EXPECT_EQ(batch.text, "");
  EXPECT_EQ(batch.position, 1U);
}

TEST(FeedTest, SubscriberBehindTheRingResyncs) {
  Model model("e", {.most_changes = 3});
  for (int i = 0; i < 5; ++i) model.Put(kWorkloads, MakeRow({.priority = i}));
  const auto read = [&](std::uint64_t position) {
    return model.feed().Read(position, SightsOf(kEverywhere), kPlenty);
  };
  EXPECT_EQ(read(1).outcome, Feed::Outcome::kResync);
  EXPECT_EQ(read(1).position, 5U);
  EXPECT_EQ(read(2).outcome, Feed::Outcome::kOk);
  EXPECT_EQ(read(6).outcome, Feed::Outcome::kResync);  // ahead: of another process
  EXPECT_FALSE(model.feed().Continues({"other", 5}));
  EXPECT_TRUE(model.feed().Continues({"e", 5}));
}

TEST(FeedTest, RingIsBoundedInBytes) {
  Model model("e", {.most_changes = 1000, .most_bytes = 5000});
  for (int i = 0; i < 50; ++i) {
    model.Put(kWorkloads, MakeRow({.remark = std::string(1000, static_cast<char>('a' + i % 26))}));
  }
  EXPECT_FALSE(model.feed().Continues({"e", 40}));
  EXPECT_TRUE(model.feed().Continues({"e", 49}));
}

TEST(FeedTest, BoundedBatchesDeliverEveryChange) {
  Model model("e");
  for (int i = 0; i < 20; ++i) model.Put(kWorkloads, MakeRow({.priority = i}));
  std::uint64_t position = 0;
  std::string text;
  int batches = 0;
  while (position < model.feed().revision()) {
    const Feed::Batch batch = model.feed().Read(position, SightsOf(kEverywhere), 300);
    EXPECT_LT(batch.text.size(), 1500U);
    text += batch.text;
    position = batch.position;
    ++batches;
  }
  EXPECT_GT(batches, 5);
  EXPECT_EQ(text, TextOf(model, 0, kEverywhere));
}

}  // namespace
}  // namespace berth::readapi
