// net/http.h — HTTP/1.1 messages as plain data, without Kubernetes, Asio or Beast.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::net {

struct Header {
  std::string name;
  std::string value;
  friend bool operator==(const Header&, const Header&) = default;
};

// The headers in the order of transmission; names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> headers) : headers_(headers) {}

  // The first value of `name`; empty if absent.
  std::string_view Find(std::string_view name) const;
  bool Has(std::string_view name) const;
  void Add(std::string name, std::string value) {
    headers_.push_back({std::move(name), std::move(value)});
  }
  // Replaces every value of `name` with one.
  void Set(std::string_view name, std::string value);

  auto begin() const { return headers_.begin(); }
  auto end() const { return headers_.end(); }
  std::size_t size() const { return headers_.size(); }

 private:
  std::vector<Header> headers_;
};

struct Request {
  std::string method;  // "GET", upper case
  std::string target;  // path and query as on the wire: "/api/v1/pods?limit=5"
  Headers headers;
  std::string body;

  // Set by the server only.
  std::string peer_address;                    // "127.0.0.1:40312"
  std::string client_certificate_common_name;  // set for a verified client certificate, else empty
  std::vector<std::string> client_certificate_organizations;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
};

}  // namespace berth::net
