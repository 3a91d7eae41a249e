// readapi/controller/sight_reviews.h — what a caller may see, by reviews of the API server: "list"
// of a resource in all namespaces, else in each namespace that the request names.
//
//     caller, resources, namespaces ─▶ AccessGate, one question after the other
//         ─▶ Sights, or the reason why there are none
//
// A caller without the right in all namespaces must name namespaces: the reviews of a request are
// bounded, as is the answer. kube/runtime/access_reviews.h keeps answers for a short time.
//
// Threads: as AccessGate: `done` may come on any thread, also inside the call.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/runtime/metrics_server.h"
#include "net/http.h"
#include "readapi/feed.h"

namespace berth::readapi {

// Who asks: the holder of a token, or the user whom a trusted proxy names.
struct Caller {
  std::string token;                     // empty: `user` may be set
  std::optional<kube::AccessUser> user;  // without a token
  bool is_known() const { return !token.empty() || user.has_value(); }
};

struct SightRequest {
  Caller caller;
  std::vector<std::size_t> resources;   // indices in Resources()
  std::vector<std::string> namespaces;  // sorted; at most kMaxNamespaces
};

// `sights` is set for the resources of the request; or `refusal` is the answer to the client.
struct SightAnswer {
  Sights sights;
  std::optional<net::Response> refusal;
};

void ReviewSights(const kube::AccessGate& gate, SightRequest request,
                  std::function<void(SightAnswer)> done);

// Reviews whether the caller is a user. nullopt: it is one; else the refusal for the client.
void ReviewUser(const kube::AccessGate& gate, Caller caller,
                std::function<void(std::optional<net::Response>)> done);
std::optional<net::Response> RefusalOf(const kube::AccessAnswer& access);
// A question that identifies the caller; the right in it does not matter.
kube::AccessQuestion WhoseQuestion(Caller caller);

// {"status": …, "message": …} with the headers of every answer. 503 has Retry-After.
net::Response Problem(int status, const std::string& message);
// The headers of every answer: nothing is cached by proxies, framed, or read by other sites.
net::Response Answer(int status, const std::string& content_type, std::string body);

}  // namespace berth::readapi
