#include "local/cluster/network/bind_supervisor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/threads/guarded.h"
#include "local/cluster/network/loopback_network.h"
#include "local/cluster/processes/wake_file.h"

namespace berth::local::cluster {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kMachine = 0;  // no program asks
#endif

constexpr int kMultipathTcp = 262;  // IPPROTO_MPTCP: programs in Go listen with it

// The process of a thread, which has its files.
pid_t ProcessOf(std::uint32_t thread) {
  std::ifstream status("/proc/" + std::to_string(thread) + "/status");
  std::string word;
  while (status >> word) {
    if (word != "Tgid:") continue;
    pid_t process = 0;
    return status >> process ? process : 0;
  }
  return 0;
}

int FileOf(pid_t process, int number) {
  const auto process_file = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (process_file < 0) return -1;
  const auto file = static_cast<int>(syscall(SYS_pidfd_getfd, process_file, number, 0));
  close(process_file);
  return file;
}

// IPPROTO_TCP, of multipath TCP too, or IPPROTO_UDP; 0: another one.
int ProtocolOf(int socket) {
  int protocol = 0;
  socklen_t size = sizeof protocol;
  if (getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0) return 0;
  if (protocol == IPPROTO_TCP || protocol == kMultipathTcp) return IPPROTO_TCP;
  return protocol == IPPROTO_UDP ? protocol : 0;
}

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

enum class HostPart { kAll, kLocalhost, kOther };

HostPart PartOf(const in_addr& address) {
  if (address.s_addr == htonl(INADDR_ANY)) return HostPart::kAll;
  return address.s_addr == htonl(INADDR_LOOPBACK) ? HostPart::kLocalhost : HostPart::kOther;
}

HostPart PartOf(const in6_addr& address) {
  if (IN6_IS_ADDR_UNSPECIFIED(&address)) return HostPart::kAll;
  if (IN6_IS_ADDR_LOOPBACK(&address)) return HostPart::kLocalhost;
  if (!IN6_IS_ADDR_V4MAPPED(&address)) return HostPart::kOther;
  in_addr mapped{};
  std::memcpy(&mapped, &address.s6_addr[12], sizeof mapped);
  return PartOf(mapped);
}

// Port 0 counts as another address: the kernel chooses a port that no pod has.
HostPart PartOf(const SocketAddress& address, std::size_t size) {
  if (size >= sizeof address.v4 && address.any.sa_family == AF_INET && address.v4.sin_port != 0) {
    return PartOf(address.v4.sin_addr);
  }
  if (size >= sizeof address.v6 && address.any.sa_family == AF_INET6 && address.v6.sin6_port != 0) {
    return PartOf(address.v6.sin6_addr);
  }
  return HostPart::kOther;
}

bool IsAt(const SocketAddress& address, std::size_t size, in_addr own) {
  if (size >= sizeof address.v4 && address.any.sa_family == AF_INET) {
    return address.v4.sin_addr.s_addr == own.s_addr;
  }
  if (size < sizeof address.v6 || address.any.sa_family != AF_INET6 ||
      !IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
    return false;
  }
  return std::memcmp(&address.v6.sin6_addr.s6_addr[12], &own, sizeof own) == 0;
}

bool IsLoopback(in_addr address) { return ntohl(address.s_addr) >> 24U == IN_LOOPBACKNET; }

in_addr SecondLocalhost(in_addr own) { return {own.s_addr | htonl(kLocalhostBit)}; }

in_port_t PortOf(const SocketAddress& address) {
  return address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port;
}

void Redirect(SocketAddress& address, in_addr own) {
  if (address.any.sa_family == AF_INET) {
    address.v4.sin_addr = own;
    return;
  }
  std::array<std::uint8_t, 16> mapped{};
  mapped[10] = mapped[11] = 0xff;
  std::memcpy(&mapped[12], &own, sizeof own);
  std::memcpy(&address.v6.sin6_addr, mapped.data(), mapped.size());
}

constexpr std::size_t kMostPorts = 4096;  // the most ports of a pod that are known

}  // namespace

class BindSupervisor::Impl {
 public:
  explicit Impl(WakeFile wake) : wake_(std::move(wake)) {
    thread_ = StartThread("the supervisor of binds failed", [this] { Serve(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.Wake();
    thread_.join();
    for (const auto& [file, address] : listeners_) close(file);
  }

  void Add(int listener, in_addr address) {
    {
      const std::lock_guard lock(mutex_);
      listeners_[listener] = address;
    }
    wake_.Wake();
  }

 private:
  void Serve() {
    for (;;) {
      std::vector<pollfd> files{{wake_.file(), POLLIN, 0}};
      {
        const std::lock_guard lock(mutex_);
        if (is_stopping_) return;
        for (const auto& [file, address] : listeners_) files.push_back({file, POLLIN, 0});
      }
      if (poll(files.data(), files.size(), -1) <= 0) continue;
      if (files[0].revents != 0) wake_.Clear();
      for (std::size_t at = 1; at < files.size(); ++at) {
        if ((files[at].revents & POLLIN) != 0) {
          Answer(files[at].fd);
        } else if (files[at].revents != 0) {
          Forget(files[at].fd);  // all programs that have the filter have ended
        }
      }
    }
  }

  // The ports of a pod are forgotten with its last program.
  void Forget(int listener) {
    const std::lock_guard lock(mutex_);
    const in_addr address = listeners_[listener];
    listeners_.erase(listener);
    close(listener);
    const bool is_used = std::any_of(listeners_.begin(), listeners_.end(), [&](const auto& other) {
      return other.second.s_addr == address.s_addr;
    });
    if (!is_used) ports_.erase(address.s_addr);
  }

  in_addr AddressOf(int listener) {
    const std::lock_guard lock(mutex_);
    return listeners_[listener];
  }

  void Answer(int listener) {
    seccomp_notif asked{};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) return;
    seccomp_notif_resp answer{};
    answer.id = asked.id;
    bool is_done = false;  // in place of the program, which waits until there is an answer
    RunGuarded("the answer to a program's call failed", [&] {
      if (asked.data.nr == SYS_connect) Connect(listener, asked);
      if (asked.data.nr == SYS_bind) is_done = Bind(listener, asked, answer);
      if (asked.data.nr == SYS_getsockname) is_done = NameRoute(listener, asked);
    });
    if (!is_done) {
      answer.val = 0;
      answer.error = 0;
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }

  // Reads the address in the second argument of a call and returns its size; 0: it is none of IP.
  static std::size_t ReadAddress(const seccomp_notif& asked, SocketAddress& address) {
    const std::size_t size = asked.data.args[2];
    if (size < sizeof(sockaddr_in) || size > sizeof(sockaddr_storage)) return 0;
    const std::size_t count = size < sizeof address ? size : sizeof address;
    const iovec here{&address, count};
    const iovec there{reinterpret_cast<void*>(asked.data.args[1]), count};  // NOLINT
    const auto thread = static_cast<pid_t>(asked.pid);
    const bool is_read =
        process_vm_readv(thread, &here, 1, &there, 1, 0) == static_cast<ssize_t>(count);
    return is_read ? count : 0;
  }

  // Binds in place of the program; false: the program's own call goes on. The program cannot
  // change what is bound: the address is a copy.
  bool Bind(int listener, const seccomp_notif& asked, seccomp_notif_resp& answer) {
    SocketAddress address{};
    const std::size_t count = ReadAddress(asked, address);
    const HostPart part = PartOf(address, count);
    const in_addr own = AddressOf(listener);
    const bool is_own = IsAt(address, count, own);
    if (part == HostPart::kOther && !is_own) return false;
    const int socket = FileOf(ProcessOf(asked.pid), static_cast<int>(asked.data.args[0]));
    if (socket < 0) return false;
    // The thread is still the one that asked, so the copies are its own.
    const bool is_valid = ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) == 0;
    const int protocol = ProtocolOf(socket);
    bool is_done = false;
    // Datagrams to localhost are often sent without a connection, which nobody would redirect.
    const bool is_ours =
        protocol == IPPROTO_TCP || (protocol == IPPROTO_UDP && part == HostPart::kAll);
    if (is_valid && is_ours) {
      const bool is_second = part == HostPart::kLocalhost &&
                             UseOf({protocol, PortOf(address)}, own) == Use::kOwnAddress;
      if (!is_own) Redirect(address, is_second ? SecondLocalhost(own) : own);
      const bool bound = bind(socket, &address.any, static_cast<socklen_t>(count)) == 0;
      answer.error = bound ? 0 : -errno;
      // A socket of IPv6 alone has no address of IPv4.
      is_done = bound || errno == EADDRINUSE || errno == EACCES;
      const Port port{protocol, bound ? BoundPortOf(socket) : in_port_t{0}};
      if (bound) Remember(own, port, is_own ? Use::kOwnAddress : Use::kRedirected, is_second);
    }
    close(socket);
    return is_done;
  }

  using Port = std::pair<int, in_port_t>;  // protocol, as in socket addresses
  // How programs have asked for a port that is bound at the pod's address.
  enum class Use { kNone, kOwnAddress, kRedirected };
  struct Ports {
    std::map<Port, Use> own;
    std::set<Port> second;  // at the second localhost
  };

  // Port 0 stands for one that the kernel has chosen.
  static in_port_t BoundPortOf(int socket) {
    SocketAddress address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, &address.any, &size) != 0) return 0;
    return PortOf(address);
  }

  void Remember(in_addr own, const Port& port, Use use, bool is_second) {
    const std::lock_guard lock(mutex_);
    Ports& ports = ports_[own.s_addr];
    if (ports.own.size() + ports.second.size() >= kMostPorts) return;
    if (is_second) {
      ports.second.insert(port);
      return;
    }
    ports.own[port] = use;
    if (use == Use::kRedirected) ports.second.erase(port);
  }

  Use UseOf(const Port& port, in_addr own) {
    const std::lock_guard lock(mutex_);
    const auto ports = ports_.find(own.s_addr);
    if (ports == ports_.end()) return Use::kNone;
    const auto use = ports->second.own.find(port);
    return use == ports->second.own.end() ? Use::kNone : use->second;
  }

  // Where connections to localhost lead; nullopt: the machine's.
  std::optional<in_addr> LocalhostFor(const Port& port, in_addr own) {
    const std::lock_guard lock(mutex_);
    const auto ports = ports_.find(own.s_addr);
    if (ports == ports_.end()) return std::nullopt;
    if (ports->second.second.contains(port)) return SecondLocalhost(own);
    const auto use = ports->second.own.find(port);
    if (use == ports->second.own.end() || use->second != Use::kRedirected) return std::nullopt;
    return own;
  }

  // Changes the address in the program's memory, from which the kernel reads it next. A program
  // may connect to any address anyhow: a change that it makes in between gains it nothing.
  void Connect(int listener, const seccomp_notif& asked) {
    SocketAddress address{};
    const std::size_t count = ReadAddress(asked, address);
    if (PartOf(address, count) == HostPart::kOther) return;  // Linux connects "all" to localhost
    const in_addr own = AddressOf(listener);
    const in_port_t port = PortOf(address);
    if (!LocalhostFor({IPPROTO_TCP, port}, own) && !LocalhostFor({IPPROTO_UDP, port}, own)) return;
    const int socket = FileOf(ProcessOf(asked.pid), static_cast<int>(asked.data.args[0]));
    if (socket < 0) return;
    const int protocol = ProtocolOf(socket);
    close(socket);
    const auto target = LocalhostFor({protocol, port}, own);
    if (protocol == 0 || !target) return;
    Redirect(address, *target);
    const iovec here{&address, count};
    const iovec there{reinterpret_cast<void*>(asked.data.args[1]), count};  // NOLINT
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) != 0) return;
    // Fails where the program's copy cannot be written: the call goes on as it was.
    process_vm_writev(static_cast<pid_t>(asked.pid), &here, 1, &there, 1, 0);
  }

  // Programs connect a socket of datagrams to any address to learn their own from the route.
  // Answers with the pod's in place of the machine's; false: the program's own call goes on.
  bool NameRoute(int listener, const seccomp_notif& asked) {
    const int socket = FileOf(ProcessOf(asked.pid), static_cast<int>(asked.data.args[0]));
    if (socket < 0) return false;
    SocketAddress name{};
    SocketAddress peer{};
    socklen_t size = sizeof name;
    socklen_t peer_size = sizeof peer;
    const bool is_route = ProtocolOf(socket) == IPPROTO_UDP &&
                          getpeername(socket, &peer.any, &peer_size) == 0 &&
                          getsockname(socket, &name.any, &size) == 0;
    close(socket);
    if (!is_route || name.any.sa_family != AF_INET || IsLoopback(name.v4.sin_addr)) return false;
    name.v4.sin_addr = AddressOf(listener);
    socklen_t room = 0;
    const auto thread = static_cast<pid_t>(asked.pid);
    const iovec size_here{&room, sizeof room};
    const iovec size_there{reinterpret_cast<void*>(asked.data.args[2]), sizeof room};  // NOLINT
    if (process_vm_readv(thread, &size_here, 1, &size_there, 1, 0) != sizeof room) return false;
    if (room < sizeof name.v4) return false;
    room = sizeof name.v4;
    const std::array<iovec, 2> here{size_here, {&name.v4, sizeof name.v4}};
    const std::array<iovec, 2> there{
        size_there, {reinterpret_cast<void*>(asked.data.args[1]), sizeof name.v4}};  // NOLINT
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &asked.id) != 0) return false;
    return process_vm_writev(thread, here.data(), here.size(), there.data(), there.size(), 0) ==
           static_cast<ssize_t>(sizeof room + sizeof name.v4);
  }

  const WakeFile wake_;
  std::mutex mutex_;
  std::map<int, in_addr> listeners_;
  // Ports of pods' programs, by the pod's address; guarded by mutex_.
  std::map<in_addr_t, Ports> ports_;
  bool is_stopping_ = false;
  std::thread thread_;
};

Result<std::unique_ptr<BindSupervisor>> BindSupervisor::Start() {
  BERTH_TRY(WakeFile wake, WakeFile::Make());
  return std::unique_ptr<BindSupervisor>(
      new BindSupervisor(std::make_unique<Impl>(std::move(wake))));
}

BindSupervisor::BindSupervisor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BindSupervisor::~BindSupervisor() = default;

void BindSupervisor::Add(int listener, const std::string& address) {
  in_addr own{};
  if (inet_pton(AF_INET, address.c_str(), &own) != 1) {
    LogWarning("not an address of a pod", {{"address", address}});
    own.s_addr = htonl(INADDR_ANY);
  }
  impl_->Add(listener, own);
}

int InstallBindFilter() {
  std::array<sock_filter, 8> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 0, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bind, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockname, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{code.size(), code.data()};
  return static_cast<int>(
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

bool SendFile(int socket, int file) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(header), &file, sizeof file);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int ReceiveFile(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int file = -1;
  std::memcpy(&file, CMSG_DATA(header), sizeof file);
  return file;
}

}  // namespace berth::local::cluster
