// Goal: clients of the event stream cost a position each; one that does not read is passed over and
// told to list again; streams end, so that rights are reviewed again.
//
// Method: virtual time, streams that record what is written.
#include "readapi/controller/event_streams.h"

#include <gmock/gmock.h>

#include "scenarios/world/sim_executor.h"
#include "tests/readapi/rows.h"

namespace berth::readapi {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class RecordedStream final : public net::Stream {
 public:
  bool Write(std::string bytes) override {
    if (is_gone) return false;
    text += bytes;
    ++writes;
    return true;
  }
  std::size_t Backlog() const override { return backlog; }
  void WhenBelow(std::size_t, std::function<void()>) override {}
  void Close() override { is_closed = true; }
  void OnGone(std::function<void()>) override {}

  std::string text;
  int writes = 0;
  std::size_t backlog = 0;
  bool is_gone = false;
  bool is_closed = false;
};

class EventStreamsTest : public ::testing::Test {
 protected:
  std::shared_ptr<RecordedStream> Open(const std::optional<FeedCursor>& after = std::nullopt,
                                       const Sight& sight = kEverywhere) {
    auto stream = std::make_shared<RecordedStream>();
    streams_.Add(stream, Sights(Resources().size(), std::make_shared<const Sight>(sight)), after);
    return stream;
  }
  void Change(int priority) {
    model_.Put(kWorkloads, MakeRow({.priority = priority}));
    streams_.Changed();
  }

  FakeClock clock_;
  SimExecutor executor_{clock_};
  Model model_{"e", {.most_changes = 5}};
  EventStreams streams_{executor_, clock_, model_.feed(), {.most_clients = 2}};
};

TEST_F(EventStreamsTest, ChangesOfOneTickAreWrittenTogether) {
  const auto stream = Open();
  EXPECT_EQ(stream->text, "retry: 2000\nevent: start\nid: e.0\ndata: {}\n\n");
  Change(1);
  Change(2);
  EXPECT_EQ(stream->writes, 1) << "not before the tick";
  executor_.RunFor(100ms);
  EXPECT_EQ(stream->writes, 2);
  EXPECT_THAT(stream->text, HasSubstr("id: e.2\n"));
}

// Readers at one place of the feed share its text only if they see the same.
TEST_F(EventStreamsTest, ClientReceivesOnlyRowsThatItMaySee) {
  const auto all = Open();
  const auto other = Open(std::nullopt, {.everywhere = false, .namespaces = {"of-nobody"}});
  Change(1);
  executor_.RunFor(100ms);
  EXPECT_THAT(all->text, HasSubstr("event: change"));
  EXPECT_THAT(other->text, Not(HasSubstr("event: change")));
}

TEST_F(EventStreamsTest, SlowClientIsSkippedAndResyncs) {
  const auto slow = Open();
  const auto quick = Open();
  EXPECT_TRUE(streams_.is_full());
  slow->backlog = 1'000'000;
  for (int i = 1; i <= 8; ++i) {
    Change(i);
    executor_.RunFor(100ms);
  }
  EXPECT_EQ(slow->writes, 1);
  EXPECT_EQ(quick->writes, 9);
  EXPECT_THAT(quick->text, Not(HasSubstr("resync")));
  slow->backlog = 0;
  executor_.RunFor(200ms);
  EXPECT_THAT(slow->text, HasSubstr("event: resync\nid: e.8\ndata: {}\n\n"));
  EXPECT_THAT(slow->text, Not(HasSubstr("event: change")));
}

TEST_F(EventStreamsTest, HeartbeatsMoveThePositionAndFindClosedConnections) {
  const auto stream = Open();
  const auto gone = Open();
  gone->is_gone = true;
  executor_.RunFor(15s);
  EXPECT_EQ(streams_.client_count(), 1U);
  EXPECT_THAT(stream->text, HasSubstr("\n\nid: e.0\n\n"));
}

TEST_F(EventStreamsTest, StreamsEndAfterFiveMinutes) {
  const auto stream = Open();
  executor_.RunFor(290s);
  EXPECT_FALSE(stream->is_closed);
  executor_.RunFor(30s);
  EXPECT_TRUE(stream->is_closed);
  EXPECT_EQ(streams_.client_count(), 0U);
  // Nothing is left to do.
  const int writes = stream->writes;
  Change(1);
  executor_.RunFor(60s);
  EXPECT_EQ(stream->writes, writes);
}

}  // namespace
}  // namespace berth::readapi
