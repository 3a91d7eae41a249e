// tests/net/client_fixture.h — a client against a peer that the test plays by hand.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "net/client.h"
#include "tests/net/server_fixture.h"

namespace berth::net {

inline constexpr auto kLong = std::chrono::seconds(10);
inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class ClientFixture : public ServerFixture {
 protected:
  using Answer = std::future<Result<Response>>;

  std::unique_ptr<HttpClient> MakeClient(ClientOptions options) {
    auto made = HttpClient::Create(pool_, std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  // A client of plain HTTP on 127.0.0.1.
  std::unique_ptr<HttpClient> MakeClient(std::uint16_t port) {
    return MakeClient(ClientOptions{.base_url = "http://127.0.0.1:" + std::to_string(port)});
  }

  static Request Make(std::string method, std::string target, std::string body = {}) {
    Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    return request;
  }

  static Answer Send(HttpClient& client, Request request,
                     Duration timeout = std::chrono::seconds(10)) {
    auto promise = std::make_shared<std::promise<Result<Response>>>();
    auto future = promise->get_future();
    client.Send(std::move(request), timeout,
                [promise](Result<Response> result) { promise->set_value(std::move(result)); });
    return future;
  }

  // GET / with the peer answering `answer` and closing.
  Result<Response> AskPeer(std::string_view answer, Duration timeout = std::chrono::seconds(10)) {
    const auto client = MakeClient(listener_.port());
    Answer pending = Send(*client, Make("GET", "/"), timeout);
    RawPeer peer = listener_.Accept();
    peer.ReadUntil("\r\n\r\n");
    peer.Send(answer);
    peer.ShutdownSend();
    return pending.get();
  }

  RawListener listener_;
};

// The callbacks of a stream.
struct StreamLog {
  explicit StreamLog(Waiter& w) : waiter(w) {}
  StreamCallbacks Callbacks() {
    return {.on_head = [this](int code, const Headers&) { waiter.Notify([&] { status = code; }); },
            .on_data = [this](std::string_view piece) { waiter.Notify([&] { data += piece; }); },
            .on_end = [this](Status ended) { waiter.Notify([&] { ends.push_back(ended); }); }};
  }
  bool WaitForData(std::string_view text) {
    return waiter.WaitFor([&] { return data == text; });
  }
  bool WaitForEnd() {
    return waiter.WaitFor([&] { return !ends.empty(); });
  }

  Waiter& waiter;
  int status = 0;
  std::string data;
  std::vector<Status> ends;
};

}  // namespace berth::net
