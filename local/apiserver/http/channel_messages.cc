#include "local/apiserver/http/channel_messages.h"

#include <algorithm>

namespace berth::local {
namespace {

constexpr std::size_t kMostSizeBytes = 1024;
constexpr int kMostCells = 65535;

int Side(const Json& size, const char* name) {
  const auto found = size.find(name);
  if (found == size.end() || !found->is_number_integer()) return 0;
  const auto cells = found->get<std::int64_t>();
  return cells < 1 || cells > kMostCells ? 0 : static_cast<int>(cells);
}

}  // namespace

std::optional<ChannelMessage> ParseChannelMessage(std::string_view message) {
  if (message.empty()) return std::nullopt;
  const auto channel = static_cast<Channel>(static_cast<unsigned char>(message[0]));
  switch (channel) {
    case Channel::kInput:
    case Channel::kResize:
    case Channel::kClose: return ChannelMessage{channel, message.substr(1)};
    default: return std::nullopt;
  }
}

std::string MakeChannelMessage(Channel channel, std::string_view bytes) {
  std::string message(1, static_cast<char>(channel));
  return message.append(bytes);
}

std::optional<TerminalSize> ParseTerminalSize(std::string_view text) {
  if (text.size() > kMostSizeBytes) return std::nullopt;
  // allow json-parse: the text is short, which bounds its depth
  const Json size = Json::parse(text, nullptr, false);
  if (!size.is_object()) return std::nullopt;
  const TerminalSize parsed{Side(size, "Width"), Side(size, "Height")};
  if (parsed.columns == 0 || parsed.rows == 0) return std::nullopt;
  return parsed;
}

Json StatusOfEnd(const ProgramEnd& end) {
  Json status{{"metadata", Json::object()}, {"status", "Success"}};
  if (!end.failure.empty()) {
    status["status"] = "Failure";
    status["reason"] = "InternalError";
    status["code"] = 500;
    status["message"] = "Internal error occurred: " + end.failure;
    status["details"]["causes"] = Json::array({{{"message", end.failure}}});
    return status;
  }
  if (end.exit_code == 0) return status;
  const std::string code = std::to_string(end.exit_code);
  status["status"] = "Failure";
  status["reason"] = "NonZeroExitCode";
  status["message"] = "command terminated with non-zero exit code: exit status " + code;
  status["details"]["causes"] = Json::array({{{"reason", "ExitCode"}, {"message", code}}});
  return status;
}

std::string ChooseProtocol(const std::vector<std::string>& offered,
                           const std::vector<std::string_view>& known) {
  for (const std::string& protocol : offered) {
    if (std::find(known.begin(), known.end(), protocol) != known.end()) return protocol;
  }
  return {};
}

}  // namespace berth::local
