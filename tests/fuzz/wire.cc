// Targets of a connection's bytes: HTTP, request targets, URLs, policies of the audit log,
// streaming sessions.
#include "base/strings.h"
#include "local/apiserver/audit/audit_policy.h"
#include "local/apiserver/http/channel_messages.h"
#include "local/apiserver/http/spdy_channels.h"
#include "local/apiserver/http/spdy_frames.h"
#include "local/apiserver/http/target.h"
#include "local/cluster/processes/pod_processes.h"
#include "net/internal/message_parser.h"
#include "net/internal/url.h"
#include "tests/fuzz/targets.h"
#include "tests/local/apiserver/http/memory_duplex.h"

namespace berth::fuzz {
namespace {

constexpr net::ParseLimits kLimits{.header_bytes = 4096, .body_bytes = 8192};

// Feeds as a connection does: unconsumed bytes are offered again with `step` more bytes.
template <typename Parser>
bool FeedInSteps(Parser& parser, std::string_view text, std::size_t step) {
  std::size_t begin = 0;
  std::size_t end = 0;
  while (!parser.done()) {
    const net::ParseProgress progress = parser.Feed(text.substr(begin, end - begin));
    Require(progress.consumed <= end - begin, "a parser consumes what it was given");
    begin += progress.consumed;
    if (progress.failure) return false;
    if (parser.done()) break;
    if (progress.consumed > 0 && begin < end) continue;
    if (end == text.size()) return false;
    end = std::min(text.size(), end + step);
  }
  return true;
}

// The frames before the first that is broken, of bytes that come in pieces.
std::vector<local::SpdyFrame> SpdyFrames(std::string_view text, std::size_t step) {
  local::SpdyReader reader;
  std::vector<local::SpdyFrame> frames;
  for (std::size_t at = 0; at < text.size(); at += step) {
    reader.Add(text.substr(at, step));
    while (true) {
      auto frame = reader.Next();
      if (!frame) return frames;
      if (!frame->has_value()) break;
      frames.push_back(**std::move(frame));
    }
  }
  return frames;
}

// The channels of a program, of a client that sends `text` in pieces.
void SpdyPrograms(std::string_view text, std::size_t step) {
  const auto duplex = std::make_shared<local::MemoryDuplex>();
  const auto channels =
      std::make_shared<local::SpdyChannels>(duplex, local::AskedChannels{true, true, false, false});
  bool is_open = false;
  bool is_over = false;
  bool has_input_ended = false;
  std::size_t bytes = 0;
  const local::ProgramChannels::OnMessage take =
      [&](const std::optional<local::ProgramChannels::Message>& message) {
        is_over = !message.has_value();
        if (is_over) return;
        const bool is_input = message->channel == local::Channel::kInput;
        Require(is_input || message->channel == local::Channel::kResize, "clients write to these");
        Require(!is_input || !has_input_ended, "nothing follows the end of the input");
        has_input_ended = has_input_ended || message->is_last;
        bytes += message->bytes.size();
        channels->Read(take);
      };
  channels->WhenOpen([&] { is_open = true; });
  channels->Read(take);
  for (std::size_t at = 0; at < text.size() && !is_over; at += step) {
    duplex->Receive(std::string(text.substr(at, step)));
  }
  Require(bytes <= text.size(), "messages are what the client has sent");
  if (is_open && !is_over) channels->End("{}");
  Require(!is_open || duplex->is_closed, "the end closes the connection");
  if (duplex->is_read()) duplex->Receive(std::nullopt);
}

}  // namespace

void Http(std::string_view text) {
  if (text.empty()) return;
  const std::size_t step = 1 + static_cast<unsigned char>(text.front()) % 64;
  text.remove_prefix(1);
  net::RequestParser whole(kLimits);
  net::RequestParser pieces(kLimits);
  const bool read = FeedInSteps(whole, text, text.size());
  Require(FeedInSteps(pieces, text, step) == read, "a request does not depend on its packets");
  if (read) {
    const net::Request a = whole.TakeRequest();
    const net::Request b = pieces.TakeRequest();
    Require(a.method == b.method && a.target == b.target && a.body == b.body,
            "a request does not depend on its packets");
    Require(a.body.size() <= kLimits.body_bytes, "a body is bounded");
  }
  std::size_t body_bytes = 0;
  const auto sink = [&](std::string_view piece) { body_bytes += piece.size(); };
  net::ResponseParser response(kLimits, net::ResponseParser::BodyKind::kAsFramed, sink);
  if (!FeedInSteps(response, text, step) && !response.done()) {
    const auto failure = response.FeedEnd();
    (void)failure;
  }
  Require(body_bytes <= kLimits.body_bytes, "the body of an answer is bounded");
}

void Urls(std::string_view text) {
  if (const auto target = local::ParseTarget(text)) {
    if (const auto path = local::ParseApiPath(target->path)) {
      Require(!path->version.empty(), "a path of a resource names a version");
    }
  }
  if (const auto url = net::ParseBaseUrl(text)) {
    Require(!url->host.empty() && url->port != 0, "a URL names a host and a port");
    const auto again = net::ParseBaseUrl(url->origin() + url->path_prefix);
    Require(again && again->host == url->host && again->port == url->port &&
                again->path_prefix == url->path_prefix,
            "a URL reads as it is written");
  }
}

// A policy of the audit log; after "--" the user, the verb, the resource and the name of a request.
void AuditPolicies(std::string_view text) {
  const auto [document, request] = SplitParts(text);
  const auto policy = local::AuditPolicy::Parse(document);
  if (!policy) {
    Require(!policy.error().message.empty(), "a refused policy has a reason");
    return;
  }
  const auto words = Split(request, ' ');
  const auto word = [&words](std::size_t index) {
    return index < words.size() ? std::string(words[index]) : std::string();
  };
  local::AccessAttributes attributes;
  attributes.verb = word(1);
  attributes.resource = word(2);
  attributes.name = word(3);
  attributes.path = attributes.resource.empty() ? word(3) : "";
  const local::UserInfo user{.name = word(0), .uid = "", .groups = {word(0)}, .extra = {}};
  const auto first = policy->Decide(user, attributes);
  const auto second = policy->Decide(user, attributes);
  Require(first.level == second.level && first.omitted == second.omitted,
          "a request is decided the same again");
}

// The first byte says what the others are: a channel message, SPDY frames in pieces, /proc.
void Streams(std::string_view text) {
  if (text.empty()) return;
  const auto choice = static_cast<unsigned char>(text.front());
  text.remove_prefix(1);
  if (choice % 3 == 0) {
    if (const auto message = local::ParseChannelMessage(text)) {
      Require(local::MakeChannelMessage(message->channel, message->bytes) == text,
              "a message is written as it was read");
    }
    if (const auto size = local::ParseTerminalSize(text)) {
      Require(size->columns > 0 && size->rows > 0, "a terminal has a size");
    }
    return;
  }
  if (choice % 3 == 1) {
    const local::cluster::ProcessEntry entry = local::cluster::ParseProcessEntry(text);
    (void)entry;
    (void)local::cluster::ListeningSockets(text, "127.77.0.5", 8080);
    return;
  }
  const std::size_t step = 1 + choice % 64;
  SpdyPrograms(text, step);
  const std::vector<local::SpdyFrame> whole = SpdyFrames(text, text.size());
  Require(SpdyFrames(text, step).size() == whole.size(), "frames do not depend on their pieces");
  std::uint32_t last_stream = 0;
  for (const local::SpdyFrame& frame : whole) {
    Require(frame.headers.size() <= local::SpdyReader::kMostHeaders, "headers are bounded");
    Require(frame.bytes.size() <= local::SpdyReader::kMostDataBytes, "a frame is bounded");
    if (frame.kind != local::SpdyFrame::Kind::kStream) continue;
    Require(frame.stream > last_stream, "the numbers of streams rise");
    last_stream = frame.stream;
  }
}

}  // namespace berth::fuzz
