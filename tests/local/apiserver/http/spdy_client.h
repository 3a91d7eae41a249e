// tests/local/apiserver/http/spdy_client.h — frames of SPDY/3.1 as Kubernetes' clients write them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zlib.h>

#include "local/apiserver/http/spdy_frames.h"

namespace berth::local {

// Frames as github.com/moby/spdystream writes them.
class SpdyClient {
 public:
  SpdyClient() {
    deflateInit(&stream_, Z_BEST_COMPRESSION);
    const std::string& dictionary = SpdyDictionary();
    deflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(dictionary.data()),
                         static_cast<uInt>(dictionary.size()));
  }
  ~SpdyClient() { deflateEnd(&stream_); }

  SpdyClient(const SpdyClient&) = delete;
  SpdyClient& operator=(const SpdyClient&) = delete;

  static std::string Word(std::string_view text) { return Number(text.size(), 4).append(text); }
  static std::string Number(std::size_t number, int width) {
    std::string bytes;
    for (int shift = 8 * (width - 1); shift >= 0; shift -= 8) {
      bytes += static_cast<char>(number >> shift & 0xff);
    }
    return bytes;
  }
  static std::string Frame(int type, int flags, const std::string& body) {
    return std::string("\x80\x03", 2) + Number(static_cast<std::size_t>(type), 2) +
           Number(static_cast<std::size_t>(flags), 1) + Number(body.size(), 3) + body;
  }
  static std::string Data(int id, const std::string& bytes, bool is_last = false) {
    return Number(static_cast<std::size_t>(id), 4) + Number(is_last ? 1 : 0, 1) +
           Number(bytes.size(), 3) + bytes;
  }
  std::string Stream(int id, const std::vector<std::pair<std::string, std::string>>& headers,
                     bool is_last = false) {
    std::string block = Number(headers.size(), 4);
    for (const auto& [name, value] : headers) block += Word(name) + Word(value);
    return Frame(1, is_last ? 1 : 0,
                 Number(static_cast<std::size_t>(id), 4) + std::string(6, '\0') + Deflate(block));
  }
  std::string Deflate(const std::string& text) {
    std::string out(text.size() + 1000, '\0');
    stream_.next_in = reinterpret_cast<const Bytef*>(text.data());
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    deflate(&stream_, Z_SYNC_FLUSH);
    out.resize(out.size() - stream_.avail_out);
    return out;
  }

 private:
  z_stream stream_{};
};

}  // namespace berth::local
