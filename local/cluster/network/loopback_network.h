// local/cluster/network/loopback_network.h — the addresses of pods and Services on this machine: a
// part of 127.0.0.0/8 that no other `berth up` uses.
//
//     127.N.0.0/18    pods
//     127.N.64.0/18   the second localhost of each pod (bind_supervisor.h)
//     127.N.128.0/17  Services
//
// This process reserves N by the name of an abstract socket, which ends with the process.
//
// Threads: PodAddresses: one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/result.h"

namespace berth::local::cluster {

class LoopbackNetwork {
 public:
  // Takes the first free part in an order that depends on `seed`: the same data folder gets the
  // same part, if no other process has it. kUnavailable: all parts are taken.
  static Result<LoopbackNetwork> Claim(const std::string& seed);
  LoopbackNetwork(LoopbackNetwork&& other) noexcept;
  LoopbackNetwork& operator=(LoopbackNetwork&&) = delete;
  ~LoopbackNetwork();

  const std::string& prefix() const { return prefix_; }  // "127.77"

 private:
  LoopbackNetwork(int socket, std::string prefix) : socket_(socket), prefix_(std::move(prefix)) {}
  int socket_;
  std::string prefix_;
};

// The bit that, added to the address of a pod as a number, gives the pod's second localhost.
inline constexpr std::uint32_t kLocalhostBit = 0x4000;

// The addresses of running pods, by uid.
class PodAddresses {
 public:
  explicit PodAddresses(std::string prefix) : prefix_(std::move(prefix)) {}

  // The pod's address; a new one if it has none. "127.0.0.1" once all are in use.
  std::string Take(const std::string& uid);
  void GiveBack(const std::string& uid);

 private:
  const std::string prefix_;
  std::map<std::string, std::uint32_t> number_by_uid_;
  std::set<std::uint32_t> used_;
  std::uint32_t last_ =
      0;  // the number given last; the next pod gets another one, to avoid confusion in logs
};

}  // namespace berth::local::cluster
