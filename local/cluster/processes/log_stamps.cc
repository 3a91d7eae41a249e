#include "local/cluster/processes/log_stamps.h"

#include "base/rfc3339.h"

namespace berth::local::cluster {

std::string LogStamp(WallTime time) {
  std::string text = FormatMicroTime(time);
  text.pop_back();
  return text + "000Z";
}

std::string LogStamps::Add(std::string_view text, std::int64_t offset) {
  std::string stamped;
  while (!text.empty()) {
    if (is_at_line_start_) {
      const WallTime time = time_at_(offset);
      if (stamp_.empty() || time != last_) stamp_ = LogStamp(time) + " ";
      last_ = time;
      stamped += stamp_;
    }
    const std::size_t end = text.find('\n');
    const std::size_t count = end == std::string_view::npos ? text.size() : end + 1;
    stamped += text.substr(0, count);
    is_at_line_start_ = end != std::string_view::npos;
    text.remove_prefix(count);
    offset += static_cast<std::int64_t>(count);
  }
  return stamped;
}

}  // namespace berth::local::cluster
