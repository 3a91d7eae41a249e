#include "readapi/controller/sight_reviews.h"

#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "base/log/log.h"

namespace berth::readapi {
namespace {

using Outcome = kube::AccessAnswer::Outcome;

// Asks one question after the other: at most (1 + namespaces) for each resource.
class SightReview : public std::enable_shared_from_this<SightReview> {
 public:
  SightReview(kube::AccessGate gate, SightRequest request, std::function<void(SightAnswer)> done)
      : gate_(std::move(gate)), request_(std::move(request)), done_(std::move(done)) {
    answer_.sights.resize(Resources().size());
  }

  void Next() {
    if (at_ == request_.resources.size()) return done_(std::move(answer_));
    const Resource& resource = Resources()[request_.resources[at_]];
    const bool everywhere = space_ == 0;
    kube::AccessQuestion question{
        .token = request_.caller.token, .verb = "list", .user = request_.caller.user};
    const Right& right = everywhere ? resource.everywhere : resource.in_namespace;
    question.resource =
        kube::AccessResource{.group = right.group, .version = "*", .resource = right.resource};
    if (!everywhere) question.resource->namespace_name = request_.namespaces[space_ - 1];
    gate_(std::move(question),
          [self = shared_from_this()](const kube::AccessAnswer& access) { self->Take(access); });
  }

 private:
  void Take(const kube::AccessAnswer& access) {
    switch (access.outcome) {
      case Outcome::kAllowed: return TakeRight();
      case Outcome::kDenied:
        if (space_ == 0 && !request_.namespaces.empty()) {
          space_ = 1;
          return Next();
        }
        return Refuse(Problem(403, DenialOf(access.user)));
      case Outcome::kNoUser: {
        net::Response response = Problem(401, "the token belongs to no user");
        response.headers.Add("WWW-Authenticate", "Bearer");
        return Refuse(std::move(response));
      }
      case Outcome::kOverloaded:
        return Refuse(Problem(503, "too many reviews of rights are under way"));
      case Outcome::kFailed: break;
    }
    LogWarning("a request for the read API could not be reviewed", {{"error", access.error}});
    Refuse(Problem(503, "the right to read could not be reviewed"));
  }

  void TakeRight() {
    if (space_ > 0 && space_ < request_.namespaces.size()) {
      ++space_;
      return Next();
    }
    answer_.sights[request_.resources[at_]] = std::make_shared<const Sight>(
        Sight{.everywhere = space_ == 0, .namespaces = request_.namespaces});
    ++at_;
    space_ = 0;
    Next();
  }

  std::string DenialOf(const std::string& user) const {
    const Resource& resource = Resources()[request_.resources[at_]];
    const std::string whom = "user \"" + user + "\" may not list ";
    if (space_ > 0) {
      return whom + resource.in_namespace.resource + " in namespace \"" +
             request_.namespaces[space_ - 1] + "\"";
    }
    return whom + resource.everywhere.resource +
           " in all namespaces: name namespaces, ?namespace=a,b";
  }

  void Refuse(net::Response response) {
    answer_.refusal = std::move(response);
    done_(std::move(answer_));
  }

  const kube::AccessGate gate_;
  const SightRequest request_;
  const std::function<void(SightAnswer)> done_;
  SightAnswer answer_;
  std::size_t at_ = 0;     // the resource that is asked for
  std::size_t space_ = 0;  // 0: in all namespaces; else 1 + the index of the namespace
};

}  // namespace

net::Response Answer(int status, const std::string& content_type, std::string body) {
  net::Response response;
  response.status = status;
  response.headers.Add("Content-Type", content_type);
  response.headers.Add("Cache-Control", "private, no-cache");
  response.headers.Add("X-Content-Type-Options", "nosniff");
  response.headers.Add("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  response.headers.Add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.Add("Vary", "Authorization, Cookie");
  response.body = std::move(body);
  return response;
}

net::Response Problem(int status, const std::string& message) {
  using Json = nlohmann::json;
  const Json body = {{"status", status}, {"message", message}};
  net::Response response = Answer(status, "application/json", api::FormatJson(body) + "\n");
  if (status == 503) response.headers.Add("Retry-After", "1");
  return response;
}

kube::AccessQuestion WhoseQuestion(Caller caller) {
  return {.token = std::move(caller.token),
          .verb = "get",
          .path = "/api/v1",
          .user = std::move(caller.user)};
}

std::optional<net::Response> RefusalOf(const kube::AccessAnswer& access) {
  switch (access.outcome) {
    case Outcome::kAllowed:
    case Outcome::kDenied: return std::nullopt;  // what may be read is reviewed at each request
    case Outcome::kNoUser: return Problem(401, "the token belongs to no user, or has expired");
    case Outcome::kOverloaded: return Problem(503, "too many reviews of rights are under way");
    case Outcome::kFailed: break;
  }
  LogWarning("a token could not be reviewed", {{"error", access.error}});
  return Problem(503, "the token could not be reviewed");
}

void ReviewUser(const kube::AccessGate& gate, Caller caller,
                std::function<void(std::optional<net::Response>)> done) {
  gate(WhoseQuestion(std::move(caller)),
       [done = std::move(done)](const kube::AccessAnswer& access) { done(RefusalOf(access)); });
}

void ReviewSights(const kube::AccessGate& gate, SightRequest request,
                  std::function<void(SightAnswer)> done) {
  std::make_shared<SightReview>(gate, std::move(request), std::move(done))->Next();
}

}  // namespace berth::readapi
