// Goal: programs of pods have addresses of their own, find Services by name, and reach them.
// Method: real processes of python3, on free ports; hosts files in a folder of the test.
#include "local/cluster/network/pod_network.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "local/cluster/processes/program_user.h"

namespace berth::local::cluster {
namespace {

// By its path: found by a name, a program looks for its modules beside the first one of that name
// in PATH.
constexpr char kPython[] = "/usr/bin/python3";

namespace fs = std::filesystem;

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

sockaddr_in Address(const std::string& ip, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  return address;
}

// A port that nothing has on any address.
int FreePort() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Address("0.0.0.0", 0);
  socklen_t size = sizeof address;
  bind(file, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  close(file);
  return ntohs(address.sin_port);
}

Object Service(const std::string& name) {
  return std::make_shared<const Json>(Json{{"metadata", {{"name", name}, {"namespace", "team"}}}});
}

// What the server there says; "" if none listens.
std::string Ask(const std::string& ip, int port) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Address(ip, port);
  std::string answer;
  if (connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    // Linux may drop a connection in silence that is made while its listener closes: the client
    // learns so when it sends something.
    shutdown(file, SHUT_WR);
    char bytes[64];
    ssize_t got = 0;
    while ((got = recv(file, bytes, sizeof bytes, 0)) > 0) {
      answer.append(bytes, static_cast<std::size_t>(got));
    }
  }
  close(file);
  return answer;
}

class PodNetworkTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "berth-network-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    auto claimed = LoopbackNetwork::Claim(folder_);
    ASSERT_TRUE(claimed);
    loopback_.emplace(*std::move(claimed));
    network_ = std::make_unique<PodNetwork>(loopback_->prefix(), folder_ + "/hosts");
    auto host = ProcessHost::Start(folder_);
    ASSERT_TRUE(host);
    host_ = *std::move(host);
  }
  void TearDown() override {
    host_.reset();
    SweepProcesses(folder_);
    fs::remove_all(folder_);
  }

  // A server of all addresses that says `word` to everybody.
  std::string Serve(const std::string& word, int port, const std::string& family = "AF_INET",
                    int protocol = 0) {
    return ServeAt(family == "AF_INET" ? "0.0.0.0" : "::", word, port, family, protocol);
  }

  std::string ServeAt(const std::string& any, const std::string& word, int port,
                      const std::string& family = "AF_INET", int protocol = 0) {
    const std::string script =
        "import socket\ns = socket.socket(socket." + family + ", socket.SOCK_STREAM, " +
        std::to_string(protocol) +
        ")\ns.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\ns.bind(('" + any + "', " +
        std::to_string(port) + "))\ns.listen()\nwhile True:\n c, _ = s.accept()\n c.sendall(b'" +
        word + "')\n c.close()\n";
    return Run(word, {kPython, "-c", script});
  }

  // What a program of the pod hears at localhost.
  std::string HearsAt(const std::string& pod, const std::string& host, int port) {
    const std::string client = "client-" + std::to_string(++clients_);
    Run(pod,
        {kPython, "-c",
         "import socket\ntry:\n print(socket.create_connection(('" + host + "', " +
             std::to_string(port) + ")).recv(9).decode())\nexcept OSError:\n print('nobody')\n"},
        client);
    EXPECT_TRUE(Eventually([&] { return ReadText(LogOf(client)).ends_with('\n'); }));
    return ReadText(LogOf(client));
  }

  // Returns the address of the pod. `program` names it in the files; "": the pod's name.
  std::string Run(const std::string& pod, const std::vector<std::string>& argv,
                  std::string program = "", const Json& names = Json::object()) {
    if (program.empty()) program = pod;
    Json object = {{"metadata", {{"name", pod}, {"namespace", "team"}, {"uid", pod}}},
                   {"spec", {{"containers", Json::array()}}}};
    object["spec"].update(names);
    const std::string address = network_->addresses().Take(pod);
    ProcessSpec spec;
    spec.argv = argv;
    spec.env = {"PATH=/usr/local/bin:/usr/bin:/bin"};
    spec.working_folder = folder_;
    spec.output_path = LogOf(program);
    spec.record_path = folder_ + "/" + program + ".process";
    spec.network = network_->For(object, address);
    EXPECT_TRUE(spec.network);
    const auto started = host_->Spawn(spec, [](ProcessExit) {});
    EXPECT_TRUE(started) << started.error().message;
    return address;
  }
  std::string LogOf(const std::string& pod) const { return folder_ + "/" + pod + ".log"; }

  static bool Eventually(const std::function<bool()>& holds) {
    for (int round = 0; round < 1000; ++round) {
      if (holds()) return true;
      std::this_thread::sleep_for(
          std::chrono::milliseconds(10));  // allow sleep-in-test: another process
    }
    return false;
  }

  std::string folder_;
  std::optional<LoopbackNetwork> loopback_;
  std::unique_ptr<PodNetwork> network_;
  std::unique_ptr<ProcessHost> host_;
  int clients_ = 0;
};

TEST_F(PodNetworkTest, PodsMayUseTheSamePortAtTheirAddresses) {
  const int port = FreePort();
  const std::string one = Serve("one", port);
  const std::string two = Serve("two", port);
  const std::string six = Serve("six", port, "AF_INET6");
  EXPECT_TRUE(Eventually([&] { return Ask(one, port) == "one"; })) << ReadText(LogOf("one"));
  EXPECT_TRUE(Eventually([&] { return Ask(two, port) == "two"; })) << ReadText(LogOf("two"));
  EXPECT_TRUE(Eventually([&] { return Ask(six, port) == "six"; })) << ReadText(LogOf("six"));
  EXPECT_EQ(Ask("127.0.0.1", port), "") << "the machine's own address is free";
}

TEST_F(PodNetworkTest, LocalhostReachesTheProgramsOfThePod) {
  const int port = FreePort();
  const std::string one = Serve("one", port);
  const std::string two = Serve("two", port);
  const std::string six = Serve("six", port, "AF_INET6");
  EXPECT_TRUE(Eventually([&] {
    return Ask(one, port) == "one" && Ask(two, port) == "two" && Ask(six, port) == "six";
  }));
  EXPECT_EQ(HearsAt("one", "127.0.0.1", port), "one\n");
  EXPECT_EQ(HearsAt("two", "localhost", port), "two\n");
  EXPECT_EQ(HearsAt("six", "127.0.0.1", port), "six\n");
  EXPECT_EQ(HearsAt("one", "::1", port), "one\n");
  EXPECT_EQ(HearsAt("six", "::ffff:127.0.0.1", port), "six\n");
  EXPECT_EQ(HearsAt("four", "127.0.0.1", port), "nobody\n");
}

TEST_F(PodNetworkTest, ServersAtLocalhostBelongToTheirPod) {
  const int port = FreePort();
  const std::string one = ServeAt("127.0.0.1", "one", port);
  const std::string two = ServeAt("127.0.0.1", "two", port);
  EXPECT_TRUE(Eventually([&] { return Ask(one, port) == "one"; })) << ReadText(LogOf("one"));
  EXPECT_TRUE(Eventually([&] { return Ask(two, port) == "two"; })) << ReadText(LogOf("two"));
  EXPECT_EQ(HearsAt("one", "localhost", port), "one\n");
  EXPECT_EQ(HearsAt("two", "127.0.0.1", port), "two\n");
  EXPECT_EQ(Ask("127.0.0.1", port), "") << "the machine's localhost is free";
}

// Linux does the same. Programs in Go dial the address that they listen on.
TEST_F(PodNetworkTest, ConnectionToAllAddressesReachesTheListenerOfThePod) {
  const int port = FreePort();
  const std::string one = Serve("one", port, "AF_INET6");
  const std::string two = ServeAt("127.0.0.1", "two", port);
  EXPECT_TRUE(Eventually([&] { return Ask(one, port) == "one"; })) << ReadText(LogOf("one"));
  EXPECT_TRUE(Eventually([&] { return Ask(two, port) == "two"; })) << ReadText(LogOf("two"));
  for (const char* all : {"0.0.0.0", "::"}) {
    EXPECT_EQ(HearsAt("one", all, port), "one\n") << all;
    EXPECT_EQ(HearsAt("two", all, port), "two\n") << all;
  }
}

// Servers of gRPC listen so: with SO_REUSEPORT, at a port that the kernel has chosen before.
TEST_F(PodNetworkTest, PodAddressAndLocalhostAreDistinct) {
  const std::string script = R"(
import socket, threading
own = socket.gethostbyname(socket.gethostname())
def serve(address, port, word):
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    server.bind((address, port))
    server.listen()
    def answer():
        while True:
            client, _ = server.accept()
            client.sendall(word)
            client.close()
    threading.Thread(target=answer, daemon=True).start()
    return server.getsockname()[1]
port = serve(own, 0, b'pod')
serve('127.0.0.1', port, b'localhost')
for _ in range(8):
    said = [socket.create_connection((host, port)).recv(9).decode() for host in (own, '127.0.0.1')]
    if said != ['pod', 'localhost']:
        print('wrong', said)
print('done')
)";
  Run("one", {kPython, "-c", script});
  Run("two", {kPython, "-c", script});
  for (const char* pod : {"one", "two"}) {
    EXPECT_TRUE(Eventually([&] { return ReadText(LogOf(pod)).ends_with("done\n"); }));
    EXPECT_EQ(ReadText(LogOf(pod)), "done\n");
  }
}

TEST_F(PodNetworkTest, RouteLookupReturnsTheAddressOfThePod) {
  const int file = socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in outside = Address("8.8.8.8", 80);
  const bool has_route =
      connect(file, reinterpret_cast<const sockaddr*>(&outside), sizeof outside) == 0;
  close(file);
  if (!has_route) GTEST_SKIP() << "this machine has no route";
  const std::string script = R"(
import socket
server = socket.socket()
server.bind(('0.0.0.0', )" + std::to_string(FreePort()) +
                             R"())
server.listen()
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.connect(('8.8.8.8', 80))
own = asked.getsockname()[0]
print(own, asked.getpeername()[0])
socket.create_connection((own, server.getsockname()[1])).close()
print('connected')
)";
  const std::string one = Run("one", {kPython, "-c", script});
  EXPECT_TRUE(Eventually([&] { return ReadText(LogOf("one")) == one + " 8.8.8.8\nconnected\n"; }))
      << one << " " << ReadText(LogOf("one"));
}

TEST_F(PodNetworkTest, LocalhostReachesTheMachineAtOtherPorts) {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Address("127.0.0.1", 0);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(file, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(file, 1), 0);
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &size);
  std::thread server([file] {
    const int client = accept(file, nullptr, nullptr);
    EXPECT_EQ(send(client, "machine", 7, MSG_NOSIGNAL), 7);
    close(client);
  });
  Serve("one", FreePort());
  EXPECT_EQ(HearsAt("one", "127.0.0.1", ntohs(address.sin_port)), "machine\n");
  server.join();
  close(file);
}

TEST_F(PodNetworkTest, PodResolvesItsHostNameAndTheNamesOfItsSpec) {
  const std::string script =
      "import socket\nown = socket.gethostname()\nprint(own, socket.gethostbyname(own))\n"
      "for name in ('h.sub.team.svc.cluster.local', 'extra', 'more'):\n"
      " print(socket.gethostbyname(name))\n";
  const Json alias = {{"ip", "127.9.9.9"}, {"hostnames", Json::array({"extra", "more"})}};
  const std::string address =
      Run("pod", {kPython, "-c", script}, "",
          {{"hostname", "h"}, {"subdomain", "sub"}, {"hostAliases", Json::array({alias})}});
  const std::string said = "h " + address + "\n" + address + "\n127.9.9.9\n127.9.9.9\n";
  EXPECT_TRUE(Eventually([&] { return ReadText(LogOf("pod")) == said; })) << ReadText(LogOf("pod"));
  Run("plain", {"/bin/uname", "-n"});
  EXPECT_TRUE(Eventually([&] { return ReadText(LogOf("plain")) == "plain\n"; }))
      << ReadText(LogOf("plain"));
  EXPECT_TRUE(fs::exists(folder_ + "/hosts/plain"));
  network_->Release("plain");
  EXPECT_FALSE(fs::exists(folder_ + "/hosts/plain"));
}

TEST_F(PodNetworkTest, DatagramsReachThePodOfTheirAddress) {
  const int port = FreePort();
  const auto receive = [&](const std::string& pod, const char* family, const char* any) {
    return Run(pod, {kPython, "-uc",
                     std::string("import socket\ns = socket.socket(socket.") + family +
                         ", socket.SOCK_DGRAM)\ns.bind(('" + any + "', " + std::to_string(port) +
                         "))\nprint('bound')\nprint(s.recv(9).decode())\n"});
  };
  const std::string one = receive("one", "AF_INET", "0.0.0.0");
  const std::string two = receive("two", "AF_INET6", "::");
  for (const auto& each : {std::pair{"one", one}, std::pair{"two", two}}) {
    const char* pod = each.first;
    EXPECT_TRUE(Eventually([&] { return ReadText(LogOf(pod)) == "bound\n"; }))
        << ReadText(LogOf(pod));
    Run(std::string("to-") + pod,
        {kPython, "-c",
         "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'" +
             std::string(pod) + "', ('" + each.second + "', " + std::to_string(port) + "))\n"});
    EXPECT_TRUE(Eventually([&] {
      return ReadText(LogOf(pod)) == "bound\n" + std::string(pod) + "\n";
    })) << ReadText(LogOf(pod));
  }
}

// Go's programs listen so.
TEST_F(PodNetworkTest, ListenersOfMultipathTcpHaveTheAddressOfTheirPod) {
  constexpr int kMultipathTcp = 262;
  const int probe = socket(AF_INET6, SOCK_STREAM, kMultipathTcp);
  if (probe < 0) GTEST_SKIP() << "this machine has no multipath TCP";
  close(probe);
  const int port = FreePort();
  const std::string one = Serve("one", port, "AF_INET6", kMultipathTcp);
  const std::string two = Serve("two", port, "AF_INET6", kMultipathTcp);
  EXPECT_TRUE(Eventually([&] { return Ask(one, port) == "one"; })) << ReadText(LogOf("one"));
  EXPECT_TRUE(Eventually([&] { return Ask(two, port) == "two"; })) << ReadText(LogOf("two"));
}

TEST_F(PodNetworkTest, ServiceIsReachedByItsNameAndPort) {
  const int port = FreePort();
  const std::string one = Serve("one", port);
  const std::string two = Serve("two", port);
  const std::string service = loopback_->prefix() + ".128.1";
  const auto number = static_cast<std::uint16_t>(port);
  ASSERT_TRUE(network_
                  ->SetService(Service("db"), {{service, number, {{one, number}, {two, number}}}},
                               {{service, {"db.team.svc.cluster.local", "db.team"}, {"db"}}})
                  .all);
  std::set<std::string> answers;
  EXPECT_TRUE(Eventually([&] {
    answers.insert(Ask(service, port));
    return answers.count("one") == 1 && answers.count("two") == 1;
  }));
  Run("client", {kPython, "-c",
                 "import socket\nfor name in ('db', 'db.team', 'db.team.svc.cluster.local'):\n"
                 " print(socket.gethostbyname(name))\n"
                 "print(socket.create_connection(('db', " +
                     std::to_string(port) + ")).recv(9).decode())\n"});
  const std::string names = service + "\n" + service + "\n" + service + "\n";
  EXPECT_TRUE(Eventually([&] {
    const std::string log = ReadText(LogOf("client"));
    return log == names + "one\n" || log == names + "two\n";
  })) << ReadText(LogOf("client"));
  network_->RemoveService("team", "db");
  EXPECT_TRUE(Eventually([&] { return Ask(service, port).empty(); }));
}

// A pod of a Job that names no port has the names alone while there is no other Service.
TEST_F(PodNetworkTest, EveryPodReachesTheApiByItsName) {
  const Json job = {{"metadata",
                     {{"name", "j"},
                      {"namespace", "team"},
                      {"uid", "j"},
                      {"ownerReferences", Json::array({{{"kind", "Job"}, {"controller", true}}})}}},
                    {"spec", {{"containers", Json::array({{{"name", "c"}}})}}}};
  EXPECT_FALSE(network_->For(job, "127.0.0.1"));
  Json service = *Service("kubernetes");
  service["metadata"]["namespace"] = "default";
  const std::string address = loopback_->prefix() + ".128.1";
  network_->SetService(std::make_shared<const Json>(service), {},
                       {{address, {"kubernetes.default.svc"}, {"kubernetes"}}});
  const auto network = network_->For(job, "127.0.0.1");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->address, "");
  EXPECT_NE(ReadText(network->hosts_path).find(address + " kubernetes.default.svc\n"),
            std::string::npos)
      << ReadText(network->hosts_path);
}

TEST_F(PodNetworkTest, PortsAboveALimitAreNotServed) {
  network_ = std::make_unique<PodNetwork>(loopback_->prefix(), folder_ + "/hosts",
                                          PodNetwork::Limits{2, 3, 4});
  const auto set = [&](const std::string& team, const std::string& name, int part, int count) {
    const auto service =
        std::make_shared<const Json>(Json{{"metadata", {{"name", name}, {"namespace", team}}}});
    std::vector<ServiceRoute> routes;
    for (int i = 0; i < count; ++i) {
      const auto port = static_cast<std::uint16_t>(9000 + i);
      routes.push_back(
          {loopback_->prefix() + ".128." + std::to_string(part), port, {{"127.0.0.1", port}}});
    }
    return network_->SetService(service, routes, {}).refusal;
  };
  EXPECT_EQ(set("a", "one", 1, 2), "");
  EXPECT_EQ(set("a", "one", 1, 3), "at most 2 TCP ports of a Service are served");
  EXPECT_EQ(set("a", "two", 2, 2), "at most 3 TCP ports of all Services in a namespace are served");
  EXPECT_EQ(set("b", "one", 3, 2), "at most 4 TCP ports of all Services are served");
  network_->RemoveService("a", "two");
  EXPECT_EQ(set("b", "one", 3, 2), "") << "what ended makes room";
  EXPECT_EQ(set("a", "one", 1, 0), "");
  EXPECT_EQ(set("a", "two", 2, 2), "");
}

TEST_F(PodNetworkTest, RunningProgramSeesLaterNames) {
  Run("client", {kPython, "-uc",
                 "import socket, time\nprint('here')\nwhile True:\n try:\n"
                 "  print(socket.gethostbyname('late.team'))\n  break\n"
                 " except OSError:\n  time.sleep(0.01)\n"});
  ASSERT_TRUE(Eventually([&] { return ReadText(LogOf("client")) == "here\n"; }))
      << ReadText(LogOf("client"));
  network_->SetService(Service("late"), {}, {{"127.0.9.9", {"late.team"}, {"late"}}});
  EXPECT_TRUE(Eventually([&] { return ReadText(LogOf("client")) == "here\n127.0.9.9\n"; }));
}

TEST_F(PodNetworkTest, ProgramsRunInTheNetworkOfTheMachineWhereItRefuses) {
  ProcessSpec spec;
  spec.argv = {"/bin/sh", "-c", "echo $BERTH_NETWORK"};
  spec.working_folder = folder_;
  spec.output_path = LogOf("p");
  spec.record_path = folder_ + "/p.process";
  spec.network = ProcessNetwork{folder_ + "/no-such-file", "127.9.0.1"};
  ASSERT_TRUE(host_->Spawn(spec, [](ProcessExit) {}));
  EXPECT_TRUE(Eventually([&] {
    return ReadText(LogOf("p")) ==
           "that of the machine: namespaces and filters of programs: No such file or directory\n";
  })) << ReadText(LogOf("p"));
}

TEST_F(PodNetworkTest, ProgramsOfAnotherUserHaveThePodNetwork) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  const auto user = FindJobUser("nobody");
  ASSERT_TRUE(user);
  ProcessSpec spec;
  spec.argv = {kPython, "-c",
               "import os, socket\nprint(os.getuid(), socket.gethostbyname('db'))\n"
               "s = socket.socket()\ns.bind(('0.0.0.0', " +
                   std::to_string(FreePort()) + "))\nprint(s.getsockname()[0])\n"};
  spec.env = {"PATH=/usr/bin:/bin"};
  spec.working_folder = "/";
  spec.output_path = LogOf("p");
  spec.record_path = folder_ + "/p.process";
  spec.user = *user;
  spec.network =
      ProcessNetwork{*HostsTable(folder_ + "/own", "127.0.9.9 db\n").FileOf("team", "p", ""),
                     loopback_->prefix() + ".0.9"};
  const auto started = host_->Spawn(spec, [](ProcessExit) {});
  ASSERT_TRUE(started) << started.error().message;
  const std::string expected =
      std::to_string(user->user) + " 127.0.9.9\n" + loopback_->prefix() + ".0.9\n";
  EXPECT_TRUE(Eventually([&] { return ReadText(LogOf("p")) == expected; })) << ReadText(LogOf("p"));
}

TEST_F(PodNetworkTest, AddressesAreUnique) {
  PodAddresses addresses("127.9");
  const std::string a = addresses.Take("a");
  EXPECT_EQ(a, addresses.Take("a"));
  const std::string b = addresses.Take("b");
  EXPECT_NE(a, b);
  addresses.GiveBack("a");
  EXPECT_NE(addresses.Take("c"), b);
  std::set<std::string> all;
  for (int pod = 0; pod < 1000; ++pod) all.insert(addresses.Take(std::to_string(pod)));
  EXPECT_EQ(all.size(), 1000U);
}

TEST_F(PodNetworkTest, TwoNetworksHaveTwoPrefixes) {
  const auto other = LoopbackNetwork::Claim(folder_);
  ASSERT_TRUE(other);
  EXPECT_NE(other->prefix(), loopback_->prefix());
}

TEST_F(PodNetworkTest, HostsFileKeepsEachLineInPlace) {
  HostsTable table(folder_ + "/h", "127.0.0.1 localhost");
  const auto path = table.FileOf("team", "pod-1", "127.9.1.1 pod-1\n");
  ASSERT_TRUE(path);
  table.Set("team", "team/a", {{"127.9.0.1", {"a.team"}, {"a"}}});
  table.Set("other", "other/b", {{"127.9.0.2", {"b.other"}, {"b"}}});
  const std::string machine = "127.0.0.1 localhost\n";
  const std::string head = machine + "127.9.1.1 pod-1\n# names of Services\n";
  EXPECT_EQ(ReadText(*path), head + "127.9.0.1 a.team a\n127.9.0.2 b.other\n");
  table.Set("team", "team/a", {});
  EXPECT_EQ(ReadText(*path), head + "#                 \n127.9.0.2 b.other\n");
  table.Set("team", "team/c", {{"127.9.0.3", {"c.team"}, {}}});
  EXPECT_EQ(ReadText(*path), head + "127.9.0.3 c.team  \n127.9.0.2 b.other\n");
  const std::string other = *table.FileOf("other", "pod-2", "");
  EXPECT_EQ(ReadText(other),
            machine + "# names of Services\n127.9.0.2 b.other b\n127.9.0.3 c.team\n");
  table.RemoveFile("pod-2");
  EXPECT_FALSE(fs::exists(other));
  table.Set("other", "other/b", {});
  EXPECT_EQ(ReadText(*path), head + "127.9.0.3 c.team  \n#                \n");
}

}  // namespace
}  // namespace berth::local::cluster
