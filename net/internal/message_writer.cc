#include "net/internal/message_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>

#include "base/strings.h"

namespace berth::net {
namespace {

bool IsTokenChar(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

bool IsControl(char c) { return (c >= 0 && c < 0x20 && c != '\t') || c == 0x7f; }

void AppendField(std::string_view name, std::string_view value, std::string& out) {
  if (!IsToken(name)) return;
  out.append(name).append(": ");
  const std::size_t start = out.size();
  out.append(value);
  std::replace_if(out.begin() + static_cast<std::ptrdiff_t>(start), out.end(), IsControl, ' ');
  out.append("\r\n");
}

// RFC 9110 §5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  const std::size_t length =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), length};
}

bool IsFraming(std::string_view name) {
  return EqualsIgnoreCase(name, "Content-Length") || EqualsIgnoreCase(name, "Transfer-Encoding");
}

}  // namespace

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

bool IsPlainTarget(std::string_view text) {
  return !text.empty() && text.front() == '/' &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

std::string ResponseHead(int status, const Headers& headers, const ResponseFraming& framing) {
  using Body = ResponseFraming::Body;
  std::string out;
  out.reserve(256);
  out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  out.append(ReasonPhrase(status)).append("\r\n");
  bool has_date = false;
  for (const Header& header : headers) {
    // The caller may give the length of a body that is not sent (HEAD).
    if (IsFraming(header.name) &&
        !(framing.body == Body::kNone && EqualsIgnoreCase(header.name, "Content-Length"))) {
      continue;
    }
    if (EqualsIgnoreCase(header.name, "Connection")) continue;
    has_date = has_date || EqualsIgnoreCase(header.name, "Date");
    AppendField(header.name, header.value, out);
  }
  if (!has_date) AppendField("Date", HttpDate(), out);
  if (framing.body == Body::kLength) {
    AppendField("Content-Length", std::to_string(framing.length), out);
  } else if (framing.body == Body::kChunked) {
    AppendField("Transfer-Encoding", "chunked", out);
  }
  if (!framing.keep_alive) {
    AppendField("Connection", "close", out);
  } else if (framing.version == ResponseFraming::Version::kHttp10) {
    AppendField("Connection", "keep-alive", out);
  }
  out.append("\r\n");
  return out;
}

std::string UpgradeHead(std::string_view protocol, const Headers& headers) {
  constexpr int kSwitching = 101;
  std::string out = "HTTP/1.1 " + std::to_string(kSwitching) + " ";
  out.append(ReasonPhrase(kSwitching)).append("\r\n");
  AppendField("Connection", "Upgrade", out);
  AppendField("Upgrade", protocol, out);
  for (const Header& header : headers) AppendField(header.name, header.value, out);
  out.append("\r\n");
  return out;
}

void AppendChunk(std::string_view bytes, std::string& out) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), bytes.size(), 16);
  out.append(digits.data(), end.ptr).append("\r\n").append(bytes).append("\r\n");
}

std::string RequestHead(const Request& request, std::string_view target,
                        const RequestDefaults& defaults) {
  std::string out;
  out.reserve(256);
  out.append(request.method).append(" ").append(target).append(" HTTP/1.1\r\n");
  const Headers& headers = request.headers;
  if (!headers.Has("Host")) AppendField("Host", defaults.host, out);
  if (!headers.Has("User-Agent")) AppendField("User-Agent", defaults.user_agent, out);
  if (!headers.Has("Authorization") && !defaults.bearer_token.empty()) {
    AppendField("Authorization", "Bearer " + defaults.bearer_token, out);
  }
  for (const Header& header : headers) {
    if (IsFraming(header.name) || EqualsIgnoreCase(header.name, "Connection")) continue;
    AppendField(header.name, header.value, out);
  }
  const bool may_have_body = request.method != "GET" && request.method != "HEAD";
  if (!request.body.empty() || (may_have_body && request.method != "DELETE")) {
    AppendField("Content-Length", std::to_string(request.body.size()), out);
  }
  out.append("\r\n");
  return out;
}

}  // namespace berth::net
