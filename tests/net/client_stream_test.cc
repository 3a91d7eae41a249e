// Goal: streams deliver their bytes at once and end exactly once, or never after Cancel.
#include <sys/socket.h>
#include <sys/time.h>

#include "net/client.h"
#include "tests/net/client_fixture.h"

namespace berth::net {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr auto kMinute = std::chrono::seconds(60);
constexpr std::string_view kHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

class ClientStream : public ClientFixture {
 protected:
  RawPeer AcceptAndAnswer(std::string_view answer) {
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
    return peer;
  }
};

TEST_F(ClientStream, DeliversPiecesAsTheyArrive) {
  StartServer();
  const auto client = MakeClient(port());
  StreamLog log(waiter_);
  const auto handle = client->Open(Make("GET", "/stream"), kMinute, log.Callbacks());
  const auto stream = WaitForStreams(1)[0];
  EXPECT_TRUE(waiter_.WaitFor([&] { return log.status == 200; }));  // before the first piece
  EXPECT_TRUE(stream->Write("one"));
  EXPECT_TRUE(log.WaitForData("one"));
  EXPECT_TRUE(stream->Write(std::string(1'000'000, 'x')));
  EXPECT_TRUE(waiter_.WaitFor([&] { return log.data.size() == 1'000'003; }));
  stream->Close();
  EXPECT_TRUE(log.WaitForEnd());
  EXPECT_TRUE(log.ends[0].has_value());
  EXPECT_TRUE(WaitForGone(1));
  EXPECT_FALSE(stream->Write("late"));
}

TEST_F(ClientStream, HasNoLimitOfLength) {
  ClientOptions options{.base_url = "http://127.0.0.1:" + std::to_string(listener_.port())};
  options.max_body_bytes = 10;
  const auto client = MakeClient(options);
  StreamLog log(waiter_);
  const auto handle = client->Open(Make("GET", "/"), kMinute, log.Callbacks());
  AcceptAndAnswer(std::string(kHead) + "14\r\n01234567890123456789\r\n0\r\n\r\n");
  EXPECT_TRUE(log.WaitForEnd());
  EXPECT_TRUE(log.ends[0].has_value());
  EXPECT_EQ(log.data.size(), 20U);
}

TEST_F(ClientStream, CutStreamEndsWithAnError) {
  for (const std::string_view rest : {"5\r\nhello\r\n", "5\r\nhel", "", "-1\r\nx"}) {
    const auto client = MakeClient(listener_.port());
    StreamLog log(waiter_);
    const auto handle = client->Open(Make("GET", "/"), kMinute, log.Callbacks());
    AcceptAndAnswer(std::string(kHead) + std::string(rest));
    ASSERT_TRUE(log.WaitForEnd());
    ASSERT_FALSE(log.ends[0]);
    EXPECT_EQ(log.ends[0].error().code, ErrorCode::kUnavailable);
  }
}

TEST_F(ClientStream, SilenceEndsTheStream) {
  const auto client = MakeClient(listener_.port());
  StreamLog log(waiter_);
  const auto handle =
      client->Open(Make("GET", "/w"), std::chrono::milliseconds(200), log.Callbacks());
  const RawPeer peer = AcceptAndAnswer(std::string(kHead) + "5\r\nhello\r\n");
  ASSERT_TRUE(log.WaitForEnd());
  ASSERT_FALSE(log.ends[0]);
  EXPECT_EQ(log.ends[0].error().code, ErrorCode::kDeadlineExceeded);
  EXPECT_THAT(log.ends[0].error().message, EndsWith("/w: nothing came for 200 ms"));
  EXPECT_EQ(log.data, "hello");
}

TEST_F(ClientStream, BusyStreamOutlivesTheLimitOfSilence) {
  const auto client = MakeClient(listener_.port());
  StreamLog log(waiter_);
  const auto silence = std::chrono::milliseconds(1000);
  const auto start = std::chrono::steady_clock::now();
  const auto handle = client->Open(Make("GET", "/"), silence, log.Callbacks());
  RawPeer peer = AcceptAndAnswer(kHead);
  std::size_t count = 0;
  // Each piece waits for the previous one: a conversation twice as long as the silence.
  while (std::chrono::steady_clock::now() - start < silence * 2) {
    ASSERT_TRUE(peer.Send("1\r\nx\r\n"));
    ++count;
    ASSERT_TRUE(waiter_.WaitFor([&] { return log.data.size() >= count || !log.ends.empty(); }));
    ASSERT_TRUE(log.ends.empty());
  }
  peer.Send("0\r\n\r\n");
  EXPECT_TRUE(log.WaitForEnd());
  EXPECT_TRUE(log.ends[0].has_value());
}

TEST_F(ClientStream, CancelledStreamDeliversNothing) {
  const auto client = MakeClient(listener_.port());
  StreamLog log(waiter_);
  {
    const auto handle = client->Open(Make("GET", "/"), kMinute, log.Callbacks());
    RawPeer peer = AcceptAndAnswer(std::string(kHead) + "1\r\na\r\n");
    EXPECT_TRUE(log.WaitForData("a"));
    handle->Cancel();
    handle->Cancel();
    EXPECT_TRUE(peer.IsEnded());
  }
  auto early = client->Open(Make("GET", "/"), kMinute, log.Callbacks());
  early.reset();
  client->SendAndWait(Make("GET", ""), std::chrono::seconds(1)).has_value();  // a full turn
  EXPECT_TRUE(log.ends.empty());
  EXPECT_EQ(log.data, "a");
}

TEST_F(ClientStream, MayBeCancelledInItsOwnCallback) {
  const auto client = MakeClient(listener_.port());
  StreamLog log(waiter_);
  std::unique_ptr<StreamHandle> handle;
  StreamCallbacks callbacks = log.Callbacks();
  std::promise<void> opened;
  callbacks.on_data = [&, ready = opened.get_future().share()](std::string_view piece) {
    ready.wait();
    handle.reset();
    waiter_.Notify([&] { log.data += piece; });
  };
  handle = client->Open(Make("GET", "/"), kMinute, callbacks);
  opened.set_value();
  RawPeer peer = AcceptAndAnswer(std::string(kHead) + "1\r\na\r\n1\r\nb\r\n0\r\n\r\n");
  EXPECT_TRUE(log.WaitForData("a"));
  EXPECT_TRUE(peer.IsEnded());
  EXPECT_TRUE(log.ends.empty());
}

TEST_F(ClientStream, CancelAtRandomInstantsDeliversNoEnd) {
  StartServer();
  auto client = MakeClient(port());
  StreamLog log(waiter_);
  for (int round = 0; round < 300; ++round) {
    auto handle = client->Open(Make("GET", "/stream"), kMinute, log.Callbacks());
    if (round % 3 == 0) request_count();  // a moment of another length
    if (round % 2 == 0) handle->Cancel();
  }
  client.reset();  // no callback runs after the destructor
  waiter_.Notify([&] { EXPECT_TRUE(log.ends.empty()); });
}

TEST_F(ClientStream, WatchersReceiveEveryPieceWhileOthersLeave) {
  StartServer();
  const auto client = MakeClient(port());
  constexpr std::size_t kWatchers = 30;
  std::vector<std::unique_ptr<StreamLog>> logs;
  std::vector<std::unique_ptr<StreamHandle>> handles;
  for (std::size_t count = 0; count < kWatchers; ++count) {
    logs.push_back(std::make_unique<StreamLog>(waiter_));
    handles.push_back(client->Open(Make("GET", "/stream"), kMinute, logs.back()->Callbacks()));
  }
  const auto streams = WaitForStreams(kWatchers);
  std::vector<std::future<void>> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.push_back(std::async(std::launch::async, [&] {
      for (int event = 0; event < 200; ++event) {
        for (const auto& stream : streams) stream->Write("0123456789");
      }
    }));
  }
  for (std::size_t index = 0; index < kWatchers; index += 2) handles[index]->Cancel();
  for (auto& writer : writers) writer.get();
  for (std::size_t index = 1; index < kWatchers; index += 2) {
    EXPECT_TRUE(waiter_.WaitFor([&] { return logs[index]->data.size() == 4 * 200 * 10; })) << index;
  }
  for (const auto& stream : streams) stream->Close();
  EXPECT_TRUE(WaitForGone(kWatchers));
  for (std::size_t index = 1; index < kWatchers; index += 2) {
    EXPECT_TRUE(logs[index]->WaitForEnd());
    EXPECT_TRUE(logs[index]->ends[0].has_value());
  }
}

TEST_F(ClientStream, ErrorAnswerIsDeliveredAsHeadAndBody) {
  const auto client = MakeClient(listener_.port());
  StreamLog log(waiter_);
  const auto handle = client->Open(Make("GET", "/"), kMinute, log.Callbacks());
  AcceptAndAnswer("HTTP/1.1 410 Gone\r\nContent-Length: 4\r\n\r\ngone");
  EXPECT_TRUE(log.WaitForEnd());
  EXPECT_EQ(log.status, 410);
  EXPECT_EQ(log.data, "gone");
  EXPECT_TRUE(log.ends[0].has_value());
}

TEST_F(ClientStream, SlowReaderPausesThePeer) {
  const auto client = MakeClient(listener_.port());
  std::promise<void> go_on;
  std::size_t received = 0;
  bool ended = false;
  StreamCallbacks callbacks;
  callbacks.on_data = [&, gate = go_on.get_future().share()](std::string_view piece) {
    gate.wait();
    waiter_.Notify([&] { received += piece.size(); });
  };
  callbacks.on_end = [&](const Status&) { waiter_.Notify([&] { ended = true; }); };
  const auto handle = client->Open(Make("GET", "/"), kMinute, callbacks);
  RawPeer peer = AcceptAndAnswer(kHead);
  const timeval brief{0, 200'000};
  setsockopt(peer.socket(), SOL_SOCKET, SO_SNDTIMEO, &brief, sizeof(brief));
  const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
  std::size_t sent = 0;
  while (sent < 200'000'000 && peer.Send(chunk)) sent += chunk.size();
  EXPECT_LT(sent, 50'000'000U);  // the kernel's buffers, no more
  go_on.set_value();
  peer.Reset();
  EXPECT_TRUE(waiter_.WaitFor([&] { return ended; }));
}

}  // namespace
}  // namespace berth::net
