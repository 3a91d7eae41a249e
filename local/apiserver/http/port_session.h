// local/apiserver/http/port_session.h — one port forwarding: a client's upgraded connection, and
// connections to ports of one pod.
//
//     kubectl: SPDY/3.1 frames, in WebSocket messages or as they are before kubectl 1.31: two
//              streams (data, error) for a connection to a port
//     others:  WebSocket messages of v4.channel.k8s.io: two channels for each port of the request,
//              one connection a port
//
// Each connection asks PodStreams for the address, so that only programs of the pod are reached.
// Limits: connections of a session; bytes that wait in either direction, above which the other side
// is not read.
//
// Threads: any.
// Source: k8s.io/kubelet cri/streaming/portforward, k8s.io/client-go/tools/portforward.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "local/apiserver/http/spdy_frames.h"
#include "local/apiserver/http/stream_sessions.h"
#include "local/apiserver/pod_streams.h"
#include "net/io_pool.h"
#include "net/tcp_stream.h"
#include "net/upgrade.h"

namespace berth::local {

inline constexpr std::string_view kPortForward = "portforward.k8s.io";
inline constexpr std::string_view kPortTunnel = "SPDY/3.1+portforward.k8s.io";

class PortSession final : public StreamSession, public std::enable_shared_from_this<PortSession> {
 public:
  static constexpr std::size_t kMostConnections = 64;
  static constexpr std::size_t kMostPorts = 32;  // the most ports of a request with channels
  static constexpr std::size_t kFullBytes = std::size_t{512} * 1024;
  static constexpr std::size_t kLowBytes = std::size_t{64} * 1024;
  static constexpr Duration kConnectTimeout = std::chrono::seconds(10);

  PortSession(PodPlace place, std::shared_ptr<PodStreams> streams, net::IoPool& pool)
      : place_(std::move(place)), streams_(std::move(streams)), pool_(pool) {}

  // `ports`: the ports of the channels; nullopt: the messages have SPDY frames.
  void Begin(std::shared_ptr<net::Duplex> duplex,
             const std::optional<std::vector<std::uint16_t>>& ports);
  void Cut() override;

 private:
  // One connection, by its streams or channels.
  struct Line {
    std::uint32_t data = 0;
    std::uint32_t error = 0;
    std::uint16_t port = 0;
    std::shared_ptr<net::TcpStream> tcp;  // null: not connected yet
    std::deque<std::string> waiting;      // bytes for the pod's program
    std::size_t waiting_bytes = 0;        // bytes of `waiting`, and bytes that are being written
    bool is_writing = false;
    bool has_client_ended = false;
    bool is_over = false;
  };
  using LinePtr = std::shared_ptr<Line>;
  // The streams of a connection that is not complete.
  struct Half {
    std::optional<std::uint32_t> data;
    std::optional<std::uint32_t> error;
    bool has_client_ended = false;
  };

  // The lock is held in the functions below, but for those that begin with On.
  void ReadNext();
  void OnMessage(const std::optional<std::string>& message);
  bool TakeFrames(std::string_view bytes);
  void TakeStream(const SpdyFrame& frame);
  void TakeReset(std::uint32_t stream);
  void TakeBytes(std::uint32_t stream, std::string bytes, bool is_last);
  void Open(const LinePtr& line);
  void OnAddress(const LinePtr& line, const ApiResult<std::string>& address);
  void OnConnected(const LinePtr& line, const Result<std::shared_ptr<net::TcpStream>>& tcp);
  void ReadFrom(const LinePtr& line);
  void OnBytes(const LinePtr& line, const std::optional<std::string>& bytes);
  void WriteTo(const LinePtr& line);
  void OnWritten(const LinePtr& line, std::size_t count, bool is_well);
  void OnLow();
  void Fail(const LinePtr& line, const std::string& why);
  void End(const LinePtr& line);
  void Send(std::uint32_t stream, std::string_view bytes, bool is_last);
  void Drop();

  const PodPlace place_;
  const std::shared_ptr<PodStreams> streams_;
  net::IoPool& pool_;

  std::mutex mutex_;  // guards the members below; calls that it covers call nothing back at once
  std::shared_ptr<net::Duplex> duplex_;
  bool has_frames_ = true;
  SpdyReader reader_;
  SpdyWriter writer_;
  std::map<std::string, Half> halves_;      // by request ID
  std::map<std::uint32_t, LinePtr> lines_;  // by data stream
  std::vector<LinePtr> full_;               // lines that are not read until the client reads
  std::size_t waiting_bytes_ = 0;           // the sum of all lines
  bool is_read_paused_ = false;
};

}  // namespace berth::local
