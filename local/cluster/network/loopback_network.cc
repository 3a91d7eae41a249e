#include "local/cluster/network/loopback_network.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace berth::local::cluster {
namespace {

constexpr std::uint32_t kFirstPart = 16;
constexpr std::uint32_t kParts = 224;                   // 127.16 to 127.239
constexpr std::uint32_t kMostPods = kLocalhostBit - 2;  // without .0.0 and the last

// An abstract name is of this machine (its network namespace), and ends with the socket.
bool BindName(int socket, std::uint32_t part) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "berth-loopback-" + std::to_string(part);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
}

std::uint32_t StartOf(const std::string& seed) {
  std::uint32_t hash = 2166136261U;
  for (const char c : seed) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash % kParts;
}

}  // namespace

Result<LoopbackNetwork> LoopbackNetwork::Claim(const std::string& seed) {
  const int file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) {
    return Error{ErrorCode::kUnavailable, std::string("socket: ") + std::strerror(errno)};
  }
  const std::uint32_t start = StartOf(seed);
  for (std::uint32_t step = 0; step < kParts; ++step) {
    const std::uint32_t part = kFirstPart + (start + step) % kParts;
    if (BindName(file, part)) return LoopbackNetwork(file, "127." + std::to_string(part));
  }
  close(file);
  return Error{ErrorCode::kUnavailable, "all parts of 127.0.0.0/8 belong to other berth programs"};
}

LoopbackNetwork::LoopbackNetwork(LoopbackNetwork&& other) noexcept
    : socket_(other.socket_), prefix_(std::move(other.prefix_)) {
  other.socket_ = -1;
}

LoopbackNetwork::~LoopbackNetwork() {
  if (socket_ >= 0) close(socket_);
}

std::string PodAddresses::Take(const std::string& uid) {
  auto [at, is_new] = number_by_uid_.try_emplace(uid, 0);
  if (is_new) {
    if (used_.size() >= kMostPods) {
      number_by_uid_.erase(at);
      return "127.0.0.1";
    }
    do {
      last_ = last_ % kMostPods + 1;
    } while (!used_.insert(last_).second);
    at->second = last_;
  }
  const std::uint32_t number = at->second;
  return prefix_ + "." + std::to_string(number >> 8U) + "." + std::to_string(number & 0xffU);
}

void PodAddresses::GiveBack(const std::string& uid) {
  const auto at = number_by_uid_.find(uid);
  if (at == number_by_uid_.end()) return;
  used_.erase(at->second);
  number_by_uid_.erase(at);
}

}  // namespace berth::local::cluster
