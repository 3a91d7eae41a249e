// local/apiserver/http/spdy_frames.h — the frames of SPDY/3.1 that exec, attach and port forwarding
// use: what clients send, and what the server answers.
//
// There is no flow control, as in the clients' library (github.com/moby/spdystream), since the TCP
// connection has its own. Limits: the size of frames, of header blocks and of their number of
// headers. Frames are read one at a time, so that no more than one inflated header block is in
// memory.
//
// Threads: none. Source: "SPDY Protocol — Draft 3.1".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::local {

struct SpdyFrame {
  enum class Kind { kStream, kData, kReset, kPing, kGoAway, kOther };
  Kind kind = Kind::kOther;
  std::uint32_t stream = 0;                    // the number of the stream; for kPing: of the ping
  bool is_last = false;                        // kStream, kData: the sender sends no more
  std::map<std::string, std::string> headers;  // kStream: names in lower case
  std::string bytes;                           // kData
};

class SpdyReader {
 public:
  static constexpr std::size_t kMostControlBytes = std::size_t{16} * 1024;
  static constexpr std::size_t kMostDataBytes = std::size_t{1024} * 1024;
  static constexpr std::size_t kMostHeaderBytes = std::size_t{16} * 1024;  // inflated
  static constexpr std::size_t kMostHeaders = 32;

  SpdyReader();
  ~SpdyReader();
  SpdyReader(const SpdyReader&) = delete;
  SpdyReader& operator=(const SpdyReader&) = delete;

  // Takes bytes of the connection, which wait for Next.
  void Add(std::string_view bytes);
  // The next frame; nullopt: its bytes are not complete. Errors: kInvalid: the connection cannot go
  // on. The numbers of new streams (kStream) are odd and rise.
  Result<std::optional<SpdyFrame>> Next();
  // The stream of the last kStream; 0: none.
  std::uint32_t last_stream() const { return last_stream_; }

 private:
  class Headers;
  Result<SpdyFrame> Control(std::uint32_t type, std::uint8_t flags, std::string_view body);

  std::string received_;
  std::size_t taken_ = 0;  // the part of received_ that is taken
  std::uint32_t last_stream_ = 0;
  std::unique_ptr<Headers> headers_;
};

class SpdyWriter {
 public:
  enum class ResetReason : std::uint8_t { kProtocolError = 1, kRefusedStream = 3 };

  SpdyWriter();
  ~SpdyWriter();
  SpdyWriter(const SpdyWriter&) = delete;
  SpdyWriter& operator=(const SpdyWriter&) = delete;

  // Accepts the stream, without headers. The frames must be sent in the order of the calls.
  std::string Accept(std::uint32_t stream);
  static std::string Data(std::uint32_t stream, std::string_view bytes, bool is_last);
  static std::string Reset(std::uint32_t stream, ResetReason reason);
  // The server ends the connection for a violation of the protocol; `last_stream`: the client's
  // last stream that it has served.
  static std::string GoAway(std::uint32_t last_stream);
  static std::string Ping(std::uint32_t number);

 private:
  struct Deflater;
  std::unique_ptr<Deflater> deflater_;
};

// The dictionary of header blocks (§2.6.10.1).
const std::string& SpdyDictionary();

}  // namespace berth::local
