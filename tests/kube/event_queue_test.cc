// Goal: the places of waiting events: order, bound, what gives way to what. Method: pushes in a
// row, the notes that are left, and a model with random pushes.

#include "kube/runtime/event_queue.h"

#include <deque>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using Superseded = EventQueue::Superseded;

// "a:Reason:text"
EventSeries SeriesOf(const std::string& word) {
  const std::size_t first = word.find(':');
  const std::size_t second = word.find(':', first + 1);
  return {word.substr(0, first), EventType::kNormal, word.substr(first + 1, second - first - 1),
          word.substr(second + 1)};
}

std::string WordOf(const EventSeries& series) {
  return series.object + ":" + series.reason + ":" + series.text;
}

struct EventQueueRow {
  std::string name;
  Superseded superseded;
  std::size_t bound;
  std::vector<std::string> pushed;
  std::vector<std::string> dropped;
  std::vector<std::string> left;
};

void PrintTo(const EventQueueRow& row, std::ostream* out) { *out << row.name; }

class EventQueueTest : public ::testing::TestWithParam<EventQueueRow> {};

TEST_P(EventQueueTest, DropsSupersededEventsThenTheOldest) {
  const EventQueueRow& row = GetParam();
  EventQueue queue(row.bound, row.superseded);
  std::deque<EventSeries> all;
  std::vector<std::string> dropped;
  for (const std::string& word : row.pushed) {
    all.push_back(SeriesOf(word));
    const EventQueue::Pushed pushed = queue.Push(all.back());
    if (pushed.dropped != nullptr) dropped.push_back(WordOf(*pushed.dropped));
  }
  EXPECT_EQ(dropped, row.dropped);
  std::vector<std::string> left;
  while (const EventSeries* next = queue.Pop()) left.push_back(WordOf(*next));
  EXPECT_EQ(left, row.left);
  EXPECT_TRUE(queue.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Rows, EventQueueTest,
    ::testing::Values(
        EventQueueRow{
            "oldest_first", Superseded::kStays, 5, {"a:R:1", "b:R:1"}, {}, {"a:R:1", "b:R:1"}},
        EventQueueRow{"a_full_queue_drops_the_oldest",
                      Superseded::kStays,
                      2,
                      {"a:R:1", "b:R:1", "c:R:1"},
                      {"a:R:1"},
                      {"b:R:1", "c:R:1"}},
        EventQueueRow{"decisions_of_one_reason_stay_while_there_is_room",
                      Superseded::kStays,
                      3,
                      {"a:R:1", "a:R:2", "a:R:3"},
                      {},
                      {"a:R:1", "a:R:2", "a:R:3"}},
        EventQueueRow{"a_full_queue_drops_what_is_superseded_first",
                      Superseded::kStays,
                      3,
                      {"a:R:1", "b:R:1", "b:R:2", "c:R:1"},
                      {"b:R:1"},
                      {"a:R:1", "b:R:2", "c:R:1"}},
        EventQueueRow{"another_reason_supersedes_nothing",
                      Superseded::kStays,
                      2,
                      {"a:R:1", "a:S:1", "b:R:1"},
                      {"a:R:1"},
                      {"a:S:1", "b:R:1"}},
        EventQueueRow{"commentary_is_replaced_at_its_place",
                      Superseded::kGivesWay,
                      3,
                      {"a:R:1", "b:R:1", "a:R:2"},
                      {"a:R:1"},
                      {"a:R:2", "b:R:1"}},
        EventQueueRow{"commentary_over_the_bound",
                      Superseded::kGivesWay,
                      2,
                      {"a:R:1", "b:R:1", "b:R:2", "c:R:1"},
                      {"b:R:1", "a:R:1"},
                      {"b:R:2", "c:R:1"}}),
    [](const auto& row) { return row.param.name; });

TEST(EventQueuePlacesTest, EventIsRemovedByItsPlace) {
  EventQueue queue(4, Superseded::kStays);
  const std::vector<EventSeries> all{SeriesOf("a:R:1"), SeriesOf("a:R:2"), SeriesOf("b:R:1")};
  std::vector<std::uint64_t> places;
  for (const EventSeries& each : all) places.push_back(queue.Push(each).place);
  queue.Remove(places[1]);
  queue.Remove(places[1]);  // again: nothing
  EXPECT_EQ(queue.Pop(), all.data());
  EXPECT_EQ(queue.Push(all[1]).dropped, nullptr);
  EXPECT_EQ(queue.Pop(), &all[2]);
  EXPECT_EQ(queue.Pop(), &all[1]);
  EXPECT_EQ(queue.Pop(), nullptr);
}

}  // namespace
}  // namespace berth::kube
