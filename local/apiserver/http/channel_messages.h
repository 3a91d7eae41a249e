// local/apiserver/http/channel_messages.h — the messages of the sub-protocols v4.channel.k8s.io and
// v5.channel.k8s.io: a byte that names the channel, then the channel's bytes.
//
// Pure. Source: k8s.io/streaming/pkg/httpstream/wsstream, k8s.io/client-go/tools/remotecommand.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "local/apiserver/api.h"
#include "local/apiserver/program_streams.h"

namespace berth::local {

enum class Channel : unsigned char {
  kInput = 0,
  kOutput = 1,
  kErrorOutput = 2,
  kStatus = 3,
  kResize = 4,
  kClose = 255,  // v5: the channel in the next byte is complete
};

struct ChannelMessage {
  Channel channel = Channel::kInput;
  std::string_view bytes;
};

struct TerminalSize {
  int columns = 0;
  int rows = 0;
  friend bool operator==(const TerminalSize&, const TerminalSize&) = default;
};

// nullopt: the message is empty, or its channel is none that a client may write to.
std::optional<ChannelMessage> ParseChannelMessage(std::string_view message);
std::string MakeChannelMessage(Channel channel, std::string_view bytes);

// Parses {"Width":80,"Height":24}. nullopt: the text has another form, or a side is outside of 1 to
// 65535.
std::optional<TerminalSize> ParseTerminalSize(std::string_view text);

// The Status of the program's end, as clients of v4 and v5 read it from the channel kStatus.
Json StatusOfEnd(const ProgramEnd& end);

inline constexpr std::string_view kChannelsV5 = "v5.channel.k8s.io";
inline constexpr std::string_view kChannelsV4 = "v4.channel.k8s.io";

// The first of the client's protocols that is one of `known`; "": none.
std::string ChooseProtocol(const std::vector<std::string>& offered,
                           const std::vector<std::string_view>& known);

}  // namespace berth::local
