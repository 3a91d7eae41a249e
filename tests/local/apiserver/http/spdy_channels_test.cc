// Goal: a program's session over SPDY gets input, sizes and the end of the input, sends output and
// the status, waits for the client's streams, and survives hostile clients. Method: frames as
// client-go sends them, on a connection in memory; the program records what it gets.
#include "local/apiserver/http/spdy_channels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "local/apiserver/http/program_session.h"
#include "local/apiserver/store/stored_object.h"
#include "tests/local/apiserver/http/memory_duplex.h"
#include "tests/local/apiserver/http/spdy_client.h"

namespace berth::local {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Events {
  std::vector<std::string> all;
  std::function<void()> written;
};

class RecordedProgram final : public RunningProgram {
 public:
  explicit RecordedProgram(Events& events) : events_(events) {}
  ~RecordedProgram() override { events_.all.emplace_back("dropped"); }
  void WriteInput(std::string bytes, std::function<void()> written) override {
    events_.all.push_back("input " + bytes);
    events_.written = std::move(written);
  }
  void CloseInput() override { events_.all.emplace_back("end of input"); }
  void Resize(int columns, int rows) override {
    events_.all.push_back("size " + std::to_string(columns) + "x" + std::to_string(rows));
  }
  void Resume() override { events_.all.emplace_back("resume"); }

 private:
  Events& events_;
};

class HeldExecutor final : public Executor {
 public:
  void PostAfter(Duration delay, std::function<void()> task) override {
    EXPECT_EQ(delay, SpdyChannels::kOpenTimeout);
    task_ = std::move(task);
  }
  void Run() { task_(); }

 private:
  std::function<void()> task_;
};

class SpdyChannelsTest : public testing::Test {
 protected:
  void Begin(AskedChannels asked = {
                 .input = true, .output = true, .error_output = true, .resize = false}) {
    auto channels = std::make_shared<SpdyChannels>(duplex_, asked);
    channels->LimitOpening(timer_);
    session_->Begin(std::move(channels), std::make_unique<RecordedProgram>(events_));
  }
  std::string Stream(int id, const std::string& type) {
    return client_.Stream(id, {{"Streamtype", type}});
  }
  // One after the other: the blocks of headers belong to one zlib stream.
  std::string Streams(const std::vector<std::pair<int, std::string>>& streams) {
    std::string frames;
    for (const auto& [id, type] : streams) frames += Stream(id, type);
    return frames;
  }
  // error 1, stdin 3, stdout 5, stderr 7.
  void OpenAll() {
    Begin();
    duplex_->Receive(Streams({{1, "error"}, {3, "stdin"}}));
    duplex_->Receive(Streams({{5, "stdout"}, {7, "stderr"}}));
    duplex_->sent.clear();
  }

  const std::shared_ptr<MemoryDuplex> duplex_ = std::make_shared<MemoryDuplex>();
  Events events_;
  HeldExecutor timer_;
  SpdyClient client_;
  std::shared_ptr<ProgramSession> session_ = std::make_shared<ProgramSession>();
};

TEST_F(SpdyChannelsTest, OpenWhenAllStreamsOfTheRequestExist) {
  Begin();
  duplex_->Receive(Streams({{1, "error"}, {3, "stdin"}, {5, "stdout"}}));
  EXPECT_THAT(events_.all, IsEmpty()) << "output waits for all streams";
  EXPECT_EQ(std::count(duplex_->sent.begin(), duplex_->sent.end(), '\x80'), 3) << "replies";
  duplex_->Receive(Stream(7, "stderr"));
  EXPECT_THAT(events_.all, ElementsAre("resume"));
  timer_.Run();
  EXPECT_FALSE(duplex_->is_closed);
}

// A client that opens the stream of sizes last would wait for an answer of a connection that a
// short program has ended.
TEST_F(SpdyChannelsTest, OpenForATerminalWhenTheStreamOfSizesExists) {
  Begin({.input = true, .output = true, .error_output = false, .resize = true});
  duplex_->Receive(Streams({{1, "error"}, {3, "stdin"}, {5, "stdout"}}));
  EXPECT_THAT(events_.all, IsEmpty());
  duplex_->Receive(Stream(7, "resize"));
  EXPECT_THAT(events_.all, ElementsAre("resume"));
}

TEST_F(SpdyChannelsTest, CloseWhenStreamsAreMissingAtTheTimeout) {
  Begin();
  duplex_->Receive(Stream(1, "error"));
  timer_.Run();
  EXPECT_TRUE(duplex_->is_closed);
}

TEST_F(SpdyChannelsTest, PassInputAsTheProgramReadsIt) {
  OpenAll();
  duplex_->Receive(SpdyClient::Data(3, "one") + SpdyClient::Data(3, "two") +
                   SpdyClient::Data(3, "", true) + SpdyClient::Data(3, "three"));
  EXPECT_THAT(events_.all, ElementsAre("resume", "input one"));
  EXPECT_FALSE(duplex_->is_read()) << "what the program does not take waits with the client";
  events_.written();
  events_.written();
  EXPECT_THAT(events_.all, ElementsAre("resume", "input one", "input two", "end of input"));
  EXPECT_TRUE(duplex_->is_read());
}

TEST_F(SpdyChannelsTest, PassTheLastInputWithItsEnd) {
  OpenAll();
  duplex_->Receive(SpdyClient::Data(3, "all", true));
  EXPECT_THAT(events_.all, ElementsAre("resume", "input all", "end of input"));
}

TEST_F(SpdyChannelsTest, EndTheInputWithAStreamThatIsReset) {
  OpenAll();
  duplex_->Receive(SpdyClient::Frame(3, 0, std::string("\0\0\0\x03\0\0\0\x05", 8)));
  EXPECT_THAT(events_.all, ElementsAre("resume", "end of input"));
}

TEST_F(SpdyChannelsTest, PassSizesInAnyFrames) {
  OpenAll();
  duplex_->Receive(Stream(9, "resize"));
  duplex_->Receive(SpdyClient::Data(9, "{\"Width\":80,\"Height\":24}\n{\"Width\":100,\"Hei"));
  duplex_->Receive(SpdyClient::Data(9, "ght\":30}\n{}"));
  EXPECT_THAT(events_.all, ElementsAre("resume", "size 80x24", "size 100x30"));
  duplex_->Receive(SpdyClient::Data(9, std::string(100'000, '}')));
  EXPECT_TRUE(duplex_->is_read());
}

TEST_F(SpdyChannelsTest, SendOutputAndTheStatusWithTheirEnds) {
  OpenAll();
  EXPECT_TRUE(session_->OnOutput(OutputKind::kOutput, "out"));
  EXPECT_TRUE(session_->OnOutput(OutputKind::kError, "err"));
  session_->OnEnd({3, ""});
  const std::string status = EncodeObject(StatusOfEnd({3, ""}));
  EXPECT_EQ(duplex_->sent, SpdyWriter::Data(5, "out", false) + SpdyWriter::Data(7, "err", false) +
                               SpdyWriter::Data(3, "", true) + SpdyWriter::Data(5, "", true) +
                               SpdyWriter::Data(7, "", true) + SpdyWriter::Data(1, status, true));
  EXPECT_TRUE(duplex_->is_closed);
}

TEST_F(SpdyChannelsTest, SendTheStatusOfAProgramThatEndsBeforeTheyOpen) {
  Begin({.output = true});
  session_->OnEnd({0, ""});
  duplex_->Receive(Stream(1, "error"));
  EXPECT_FALSE(duplex_->is_closed);
  duplex_->Receive(Stream(3, "stdout"));
  EXPECT_THAT(duplex_->sent, HasSubstr("Success"));
  EXPECT_TRUE(duplex_->is_closed);
}

TEST_F(SpdyChannelsTest, StopOutputThatWaitsForTheClient) {
  OpenAll();
  duplex_->backlog = ProgramSession::kFullBytes;
  EXPECT_FALSE(session_->OnOutput(OutputKind::kOutput, "out"));
  duplex_->when_below();
  EXPECT_THAT(events_.all, ElementsAre("resume", "resume"));
}

TEST_F(SpdyChannelsTest, SendNothingOnAStreamThatIsReset) {
  OpenAll();
  duplex_->Receive(SpdyClient::Frame(3, 0, std::string("\0\0\0\x05\0\0\0\x05", 8)));
  EXPECT_TRUE(session_->OnOutput(OutputKind::kOutput, "out"));
  EXPECT_EQ(duplex_->sent, "");
}

TEST_F(SpdyChannelsTest, AnswerPings) {
  OpenAll();
  duplex_->Receive(SpdyClient::Frame(6, 0, std::string("\0\0\0\x09", 4)));
  EXPECT_EQ(duplex_->sent, SpdyWriter::Ping(9));
}

TEST_F(SpdyChannelsTest, ResetUnknownAndDuplicateStreams) {
  using ResetReason = SpdyWriter::ResetReason;
  OpenAll();
  duplex_->Receive(Streams({{9, "stdlog"}, {11, ""}, {13, "stdout"}}));
  EXPECT_EQ(duplex_->sent, SpdyWriter::Reset(9, ResetReason::kRefusedStream) +
                               SpdyWriter::Reset(11, ResetReason::kRefusedStream) +
                               SpdyWriter::Reset(13, ResetReason::kProtocolError));
  duplex_->sent.clear();
  for (int id = 15; id < 5'000; id += 2) duplex_->Receive(Stream(id, "stdin"));
  EXPECT_EQ(duplex_->sent.size(), 2'493U * 16);
  EXPECT_TRUE(session_->OnOutput(OutputKind::kOutput, "out"));
}

TEST_F(SpdyChannelsTest, EndWithAFrameThatViolatesTheProtocol) {
  OpenAll();
  duplex_->Receive(SpdyClient::Data(3, "last") + Stream(2, "stdin"));
  events_.written();
  EXPECT_EQ(duplex_->sent, SpdyWriter::GoAway(7));
  EXPECT_TRUE(duplex_->is_closed);
  EXPECT_THAT(events_.all, ElementsAre("resume", "input last", "dropped"));
}

TEST_F(SpdyChannelsTest, EndWhenTheClientLeaves) {
  OpenAll();
  duplex_->Receive(std::nullopt);
  EXPECT_THAT(events_.all, ElementsAre("resume", "dropped"));
  EXPECT_FALSE(session_->OnOutput(OutputKind::kOutput, "out"));
}

TEST_F(SpdyChannelsTest, EndWhenTheClientSendsGoAway) {
  OpenAll();
  duplex_->Receive(SpdyClient::Frame(7, 0, std::string(8, '\0')));
  EXPECT_TRUE(duplex_->is_closed);
  EXPECT_THAT(events_.all, ElementsAre("resume", "dropped"));
}

}  // namespace
}  // namespace berth::local
