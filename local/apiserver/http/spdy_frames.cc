#include "local/apiserver/http/spdy_frames.h"

#include <array>
#include <initializer_list>
#include <utility>

#include <zlib.h>

#include "base/strings.h"

namespace berth::local {
namespace {

constexpr std::size_t kFrameHead = 8;
constexpr std::uint32_t kVersion3 = 3;
constexpr std::uint8_t kFlagFin = 1;
constexpr std::uint32_t kSynStream = 1;
constexpr std::uint32_t kSynReply = 2;
constexpr std::uint32_t kRstStream = 3;
constexpr std::uint32_t kPingType = 6;
constexpr std::uint32_t kGoAwayType = 7;
constexpr std::uint32_t kStreamMask = 0x7fffffff;
constexpr std::uint32_t kGoAwayForError = 1;
constexpr std::size_t kDataPieceBytes = std::size_t{32} * 1024;

Error BrokenFrame(std::string what) { return {ErrorCode::kInvalid, "SPDY: " + std::move(what)}; }

std::uint32_t FrameNumber(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint32_t number = 0;
  for (std::size_t index = 0; index < width; ++index) {
    number = number << 8U | static_cast<unsigned char>(bytes[at + index]);
  }
  return number;
}

std::string BigEndian(std::uint32_t number, int width) {
  std::string bytes;
  for (int shift = (width - 1) * 8; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(number >> static_cast<unsigned>(shift) & 0xffU);
  }
  return bytes;
}

std::string ControlFrame(std::uint32_t type, std::string_view body) {
  std::string frame = BigEndian(0x8000U | kVersion3, 2) + BigEndian(type, 2);
  frame += BigEndian(static_cast<std::uint32_t>(body.size()), 4);  // no flags
  return frame.append(body);
}

// The words of the dictionary, each behind its length.
constexpr std::string_view kDictionaryWords =
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|"
    "accept-language|accept-ranges|age|allow|authorization|cache-control|connection|"
    "content-base|content-encoding|content-language|content-length|content-location|"
    "content-md5|content-range|content-type|date|etag|expect|expires|from|host|if-match|"
    "if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|location|"
    "max-forwards|pragma|proxy-authenticate|proxy-authorization|range|referer|retry-after|"
    "server|te|trailer|transfer-encoding|upgrade|user-agent|vary|via|warning|"
    "www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|"
    "keep-alive|origin";

constexpr std::string_view kDictionaryEnd =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504"
    "505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, "
    "Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
    "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

std::string MakeDictionary() {
  std::string text;
  for (const std::string_view word : Split(kDictionaryWords, '|')) {
    text += BigEndian(static_cast<std::uint32_t>(word.size()), 4);
    text += word;
  }
  return text.append(kDictionaryEnd);
}

}  // namespace

const std::string& SpdyDictionary() {
  static const std::string dictionary = MakeDictionary();
  return dictionary;
}

// One zlib stream for the header blocks of a connection.
class SpdyReader::Headers {
 public:
  Headers() { is_ready_ = inflateInit(&stream_) == Z_OK; }
  ~Headers() {
    if (is_ready_) inflateEnd(&stream_);
  }
  Headers(const Headers&) = delete;
  Headers& operator=(const Headers&) = delete;

  Result<std::map<std::string, std::string>> Read(std::string_view block) {
    BERTH_TRY(const std::string text, Inflate(block));
    std::map<std::string, std::string> headers;
    std::size_t at = 0;
    const auto length = [&]() -> Result<std::size_t> {
      if (text.size() - at < 4) return BrokenFrame("a header block is cut");
      at += 4;
      return std::size_t{FrameNumber(text, at - 4, 4)};
    };
    const auto word = [&]() -> Result<std::string> {
      BERTH_TRY(const std::size_t size, length());
      if (size > text.size() - at) return BrokenFrame("a header block is cut");
      at += size;
      return text.substr(at - size, size);
    };
    BERTH_TRY(const std::size_t count, length());
    if (count > kMostHeaders) return BrokenFrame("too many headers");
    for (std::size_t index = 0; index < count; ++index) {
      BERTH_TRY(const std::string name, word());
      BERTH_TRY(std::string value, word());
      headers[ToLower(name)] = std::move(value);
    }
    return headers;
  }

 private:
  Result<std::string> Inflate(std::string_view block) {
    if (!is_ready_) return BrokenFrame("no memory for header blocks");
    std::string text(kMostHeaderBytes, '\0');
    stream_.next_in = reinterpret_cast<const Bytef*>(block.data());
    stream_.avail_in = static_cast<uInt>(block.size());
    stream_.next_out = reinterpret_cast<Bytef*>(text.data());
    stream_.avail_out = static_cast<uInt>(text.size());
    while (stream_.avail_in > 0) {
      int status = inflate(&stream_, Z_SYNC_FLUSH);
      if (status == Z_NEED_DICT) {
        const std::string& dictionary = SpdyDictionary();
        status = inflateSetDictionary(&stream_, reinterpret_cast<const Bytef*>(dictionary.data()),
                                      static_cast<uInt>(dictionary.size()));
        if (status == Z_OK) continue;
      }
      if (status != Z_OK) return BrokenFrame("a header block cannot be inflated");
      if (stream_.avail_out == 0) return BrokenFrame("a header block is too large");
    }
    text.resize(text.size() - stream_.avail_out);
    return text;
  }

  z_stream stream_{};
  bool is_ready_ = false;
};

SpdyReader::SpdyReader() : headers_(std::make_unique<Headers>()) {}
SpdyReader::~SpdyReader() = default;

void SpdyReader::Add(std::string_view bytes) {
  received_.erase(0, std::exchange(taken_, 0));
  received_.append(bytes);
}

Result<std::optional<SpdyFrame>> SpdyReader::Next() {
  const std::string_view rest = std::string_view(received_).substr(taken_);
  if (rest.size() < kFrameHead) return std::optional<SpdyFrame>();
  const bool is_control = (static_cast<unsigned char>(rest[0]) & 0x80U) != 0;
  const auto flags = static_cast<std::uint8_t>(rest[4]);
  const std::size_t size = FrameNumber(rest, 5, 3);
  if (size > (is_control ? kMostControlBytes : kMostDataBytes)) {
    return BrokenFrame("a frame is too large");
  }
  if (rest.size() - kFrameHead < size) return std::optional<SpdyFrame>();
  const std::string_view body = rest.substr(kFrameHead, size);
  SpdyFrame frame;
  if (is_control) {
    if ((FrameNumber(rest, 0, 2) & 0x7fffU) != kVersion3) return BrokenFrame("not version 3");
    BERTH_TRY(frame, Control(FrameNumber(rest, 2, 2), flags, body));
  } else {
    frame.kind = SpdyFrame::Kind::kData;
    frame.stream = FrameNumber(rest, 0, 4) & kStreamMask;
    frame.is_last = (flags & kFlagFin) != 0;
    frame.bytes = body;
  }
  taken_ += kFrameHead + size;
  return std::optional<SpdyFrame>(std::move(frame));
}

Result<SpdyFrame> SpdyReader::Control(std::uint32_t type, std::uint8_t flags,
                                      std::string_view body) {
  SpdyFrame frame;
  if (type == kSynStream) {
    if (body.size() < 10) return BrokenFrame("a frame is cut");
    frame.kind = SpdyFrame::Kind::kStream;
    frame.stream = FrameNumber(body, 0, 4) & kStreamMask;
    frame.is_last = (flags & kFlagFin) != 0;
    if (frame.stream % 2 == 0 || frame.stream <= last_stream_) {
      return BrokenFrame("a stream has a number that clients may not give");
    }
    last_stream_ = frame.stream;
    BERTH_TRY(frame.headers, headers_->Read(body.substr(10)));
    return frame;
  }
  // Their blocks belong to the one zlib stream.
  if (type == kSynReply || type == 8) return BrokenFrame("a frame that clients do not send");
  if (type == kRstStream || type == kPingType) {
    if (body.size() < 4) return BrokenFrame("a frame is cut");
    frame.kind = type == kPingType ? SpdyFrame::Kind::kPing : SpdyFrame::Kind::kReset;
    frame.stream = FrameNumber(body, 0, 4);
  }
  if (type == kGoAwayType) frame.kind = SpdyFrame::Kind::kGoAway;
  return frame;
}

struct SpdyWriter::Deflater {
  Deflater() { is_ready = deflateInit(&stream, Z_BEST_SPEED) == Z_OK; }
  ~Deflater() {
    if (is_ready) deflateEnd(&stream);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  std::string Add(std::string_view bytes) {
    if (!is_ready) return {};
    std::array<char, 256> out{};
    stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_SYNC_FLUSH);
    return {out.data(), out.size() - stream.avail_out};
  }

  z_stream stream{};
  bool is_ready = false;
};

SpdyWriter::SpdyWriter() : deflater_(std::make_unique<Deflater>()) {}
SpdyWriter::~SpdyWriter() = default;

std::string SpdyWriter::Accept(std::uint32_t stream) {
  const std::string no_headers(4, '\0');
  return ControlFrame(kSynReply, BigEndian(stream, 4) + deflater_->Add(no_headers));
}

std::string SpdyWriter::Data(std::uint32_t stream, std::string_view bytes, bool is_last) {
  std::string frames;
  do {
    const std::string_view piece = bytes.substr(0, kDataPieceBytes);
    bytes.remove_prefix(piece.size());
    const std::uint32_t flags = is_last && bytes.empty() ? kFlagFin : 0;
    frames += BigEndian(stream & kStreamMask, 4);
    frames += BigEndian(flags << 24U | static_cast<std::uint32_t>(piece.size()), 4);
    frames += piece;
  } while (!bytes.empty());
  return frames;
}

std::string SpdyWriter::Reset(std::uint32_t stream, ResetReason reason) {
  return ControlFrame(
      kRstStream,
      BigEndian(stream, 4) + BigEndian(std::uint32_t{static_cast<std::uint8_t>(reason)}, 4));
}

std::string SpdyWriter::GoAway(std::uint32_t last_stream) {
  return ControlFrame(kGoAwayType, BigEndian(last_stream, 4) + BigEndian(kGoAwayForError, 4));
}

std::string SpdyWriter::Ping(std::uint32_t number) {
  return ControlFrame(kPingType, BigEndian(number, 4));
}

}  // namespace berth::local
