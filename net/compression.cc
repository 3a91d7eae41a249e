#include "net/compression.h"

#include <limits>
#include <utility>

#include <zlib.h>

#include "base/strings.h"

namespace berth::net {
namespace {

constexpr int kFast = 1;                     // kube-apiserver's level
constexpr int kGzipWindow = MAX_WBITS + 16;  // zlib: a gzip header instead of its own
constexpr int kDefaultMemory = 8;

Response Compressed(Response response) {
  if (std::string compressed = Gzip(response.body); !compressed.empty()) {
    response.body = std::move(compressed);
    response.headers.Set("Content-Encoding", "gzip");
    response.headers.Add("Vary", "Accept-Encoding");
  }
  return response;
}

class Compressor : public Responder {
 public:
  Compressor(std::shared_ptr<Responder> responder, CompressionOptions options)
      : responder_(std::move(responder)), options_(std::move(options)) {}

  bool HasPeerLeft() const override { return responder_->HasPeerLeft(); }
  void Send(Response response) override {
    if (response.status != 200 || response.headers.Has("Content-Encoding") ||
        response.body.size() < options_.min_bytes) {
      return responder_->Send(std::move(response));
    }
    if (options_.executor == nullptr) return responder_->Send(Compressed(std::move(response)));
    options_.executor->Post([responder = responder_, response = std::move(response)]() mutable {
      responder->Send(Compressed(std::move(response)));
    });
  }
  std::shared_ptr<Stream> StartStream(int status, Headers headers) override {
    return responder_->StartStream(status, std::move(headers));
  }
  std::shared_ptr<Duplex> StartUpgrade(const Request& request, std::string protocol,
                                       Headers headers) override {
    return responder_->StartUpgrade(request, std::move(protocol), std::move(headers));
  }

 private:
  const std::shared_ptr<Responder> responder_;
  const CompressionOptions options_;
};

// "gzip;q=0.0": the client does not want it.
bool IsRefused(std::string_view parameters) {
  const std::size_t quality = parameters.find("q=");
  return quality != std::string_view::npos &&
         parameters.find_first_not_of("0. ", quality + 2) == std::string_view::npos;
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const std::size_t comma = accept_encoding.find(',');
    const std::string_view clause = accept_encoding.substr(0, comma);
    const std::size_t semicolon = clause.find(';');
    const bool refused =
        semicolon != std::string_view::npos && IsRefused(clause.substr(semicolon + 1));
    if (ToLower(TrimSpace(clause.substr(0, semicolon))) == "gzip" && !refused) return true;
    if (comma == std::string_view::npos) break;
    accept_encoding.remove_prefix(comma + 1);
  }
  return false;
}

std::string Gzip(std::string_view bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) return "";
  z_stream stream{};
  if (deflateInit2(&stream, kFast, Z_DEFLATED, kGzipWindow, kDefaultMemory, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    return "";
  }
  const auto in_size = static_cast<uLong>(bytes.size());
  std::string out(deflateBound(&stream, in_size), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(done ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

std::shared_ptr<Responder> CompressLargeAnswers(const Request& request,
                                                std::shared_ptr<Responder> responder,
                                                CompressionOptions options) {
  if (request.method != "GET" || !AcceptsGzip(request.headers.Find("Accept-Encoding"))) {
    return responder;
  }
  return std::make_shared<Compressor>(std::move(responder), std::move(options));
}

}  // namespace berth::net
