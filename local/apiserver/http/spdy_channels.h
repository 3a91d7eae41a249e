// local/apiserver/http/spdy_channels.h — the channels of one program as streams of SPDY/3.1: the
// client opens a stream for each channel, with the header streamType.
//
//     client ──stdin, resize: data, FIN──────────▶ SpdyChannels ──Message──────▶ ProgramSession
//     client ◀──stdout, stderr, error: data, FIN── SpdyChannels ◀──Write, End── ProgramSession
//
// The channels are open when the client has opened the stream "error" and the streams that its
// request asks for.
//
// Errors: a stream of an unknown type, or of a channel that already has a stream, is reset. After a
// frame that violates the protocol the client gets GOAWAY, and the connection ends.
// Threads: any. Source: k8s.io/kubelet cri/streaming/remotecommand, k8s.io/client-go
// tools/remotecommand.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/executor.h"
#include "base/result.h"
#include "local/apiserver/http/program_channels.h"
#include "local/apiserver/http/spdy_frames.h"
#include "local/apiserver/program_streams.h"

namespace berth::local {

// The name of the protocol in the header Upgrade.
inline constexpr std::string_view kSpdy = "SPDY/3.1";

struct AskedChannels {
  bool input = false;
  bool output = false;
  bool error_output = false;
  bool resize = false;  // a terminal: clients open it last, and wait for its answer
};

class SpdyChannels final : public ProgramChannels,
                           public std::enable_shared_from_this<SpdyChannels> {
 public:
  // The client has this long to open the streams that it asks for; then the connection is closed.
  static constexpr Duration kOpenTimeout = std::chrono::seconds(30);

  SpdyChannels(std::shared_ptr<net::Duplex> duplex, AskedChannels asked)
      : ProgramChannels(std::move(duplex)), asked_(asked) {}

  // Starts the timer of kOpenTimeout.
  void LimitOpening(Executor& executor);

  void WhenOpen(std::function<void()> open) override;
  void Read(OnMessage on_message) override;
  bool Write(OutputKind kind, std::string_view bytes) override;
  void End(const std::string& status) override;

 private:
  static constexpr std::size_t kMostSizeBytes = 1024;  // the most bytes of kResize in one frame
  struct Stream {
    std::uint32_t id = 0;  // 0: not opened
    bool is_reset = false;
  };

  void Pump();
  void OnBytes(const std::optional<std::string>& bytes);

  // The lock is held in the functions below.
  Stream& StreamOf(Channel channel) { return streams_[static_cast<std::size_t>(channel)]; }
  bool IsOpen();
  std::optional<Message> NextMessage();
  std::optional<Message> TakeFrame(SpdyFrame frame);
  std::optional<Message> TakeStream(const SpdyFrame& frame);
  std::optional<Message> TakeData(SpdyFrame frame);
  std::optional<Message> TakeReset(const SpdyFrame& frame);
  std::optional<Message> TakeSize();
  std::optional<Message> EndInput(std::string bytes);

  const AskedChannels asked_;

  std::mutex mutex_;  // guards the members below; never held during a callback
  SpdyReader reader_;
  SpdyWriter writer_;
  std::array<Stream, 5> streams_{};  // by Channel
  std::string size_text_;            // text of kResize, incomplete
  std::function<void()> on_open_;
  OnMessage on_message_;
  bool is_pumping_ = false;  // one thread delivers messages, or bytes are being read
  bool has_input_ended_ = false;
  bool is_over_ = false;
};

}  // namespace berth::local
