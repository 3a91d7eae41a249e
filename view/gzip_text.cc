#include "view/gzip_text.h"

#include <algorithm>
#include <memory>
#include <vector>

#include <zlib.h>

namespace berth::view {
namespace {

constexpr int kGzipWindow = MAX_WBITS + 16;  // zlib: a gzip header instead of its own
constexpr std::size_t kBlock = std::size_t{1} << 20U;

Error Damaged() { return {ErrorCode::kInvalid, "the gzip data is damaged or cut off"}; }

}  // namespace

bool IsGzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1F\x8B"; }

Result<std::string> Gunzip(std::string_view bytes, std::size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return Error{ErrorCode::kInternal, "zlib does not start"};
  }
  const auto end = [](z_stream* each) { inflateEnd(each); };
  const std::unique_ptr<z_stream, decltype(end)> guard(&stream, end);
  std::string text;
  std::vector<Bytef> block(kBlock);
  int state = Z_OK;
  while (!bytes.empty() || state != Z_STREAM_END) {
    if (state == Z_STREAM_END && inflateReset(&stream) != Z_OK) return Damaged();
    const std::size_t given = std::min<std::size_t>(bytes.size(), kBlock);
    stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(given);
    stream.next_out = block.data();
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = block.size() - stream.avail_out;
    const std::size_t taken = given - stream.avail_in;
    const bool stands_still = made == 0 && taken == 0;
    if ((state != Z_OK && state != Z_STREAM_END) || stands_still) return Damaged();
    bytes.remove_prefix(taken);
    text.append(reinterpret_cast<const char*>(block.data()), made);
    if (text.size() > most) {
      return Error{ErrorCode::kInvalid, "the text in the gzip data is larger than " +
                                            std::to_string(most >> 20U) + " MiB"};
    }
  }
  return text;
}

}  // namespace berth::view
