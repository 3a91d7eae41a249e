#include "local/apiserver/http/passed_calls.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/strings.h"
#include "base/system_clock.h"
#include "local/apiserver/http/share.h"
#include "local/apiserver/registry/status_errors.h"

namespace berth::local {
namespace {

constexpr std::chrono::seconds kPassedTimeout{60};

// Whether the header belongs to one connection alone (RFC 9110, 7.6.1), or is written anew by this
// server.
bool IsOfConnection(const std::string& name, const std::set<std::string>& named) {
  static const std::set<std::string> kNames{
      "connection",         "keep-alive", "proxy-connection", "te",   "trailer",
      "transfer-encoding",  "upgrade",    "content-length",   "host", "proxy-authenticate",
      "proxy-authorization"};
  return kNames.contains(name) || named.contains(name);
}

bool IsCredential(const std::string& name) {
  return name == "authorization" || name.starts_with("impersonate-") ||
         name.starts_with("x-remote-");
}

std::set<std::string> NamedByConnection(const net::Headers& headers) {
  std::set<std::string> names;
  for (const net::Header& header : headers) {
    if (!EqualsIgnoreCase(header.name, "Connection")) continue;
    for (const std::string_view name : Split(header.value, ',')) {
      names.insert(ToLower(TrimSpace(name)));
    }
  }
  return names;
}

net::Headers ReturnedHeaders(const net::Headers& from, const std::string& prefix,
                             const std::string& audit_id) {
  net::Headers headers;
  const std::set<std::string> named = NamedByConnection(from);
  for (const net::Header& header : from) {
    const std::string name = ToLower(header.name);
    if (IsOfConnection(name, named) || name == "set-cookie") continue;
    const bool is_path = name == "location" && header.value.starts_with('/');
    headers.Add(header.name, is_path ? prefix + header.value : header.value);
  }
  headers.Set("Audit-Id", audit_id);
  return headers;
}

}  // namespace

ApiError NotReached(const std::string& why) {
  return UnavailableStatus("error trying to reach service: " + why);
}

net::Request PassedRequest(const Exchange& exchange, std::string target) {
  const net::Request& from = exchange.request;
  net::Request request;
  request.method = from.method;
  request.target = std::move(target);
  request.body = from.body;
  const std::set<std::string> named = NamedByConnection(from.headers);
  for (const net::Header& header : from.headers) {
    const std::string name = ToLower(header.name);
    if (IsOfConnection(name, named) || IsCredential(name)) continue;
    request.headers.Add(header.name, header.value);
  }
  request.headers.Set("X-Forwarded-For", from.peer_address.substr(0, from.peer_address.rfind(':')));
  request.headers.Set("X-Forwarded-Host", std::string(from.headers.Find("Host")));
  request.headers.Set("X-Forwarded-Proto", "https");
  request.headers.Set("X-Forwarded-Uri", std::string(from.target.substr(0, from.target.find('?'))));
  return request;
}

// One call whose answer is collected and given to the caller, or refused, once.
struct PassedCalls::Collecting : std::enable_shared_from_this<PassedCalls::Collecting> {
  Collecting(std::shared_ptr<Exchange> the_exchange, std::weak_ptr<PassedCalls> the_calls,
             std::int64_t id, std::shared_ptr<AnswerRoom> room, std::string the_prefix)
      : exchange(std::move(the_exchange)),
        calls(std::move(the_calls)),
        call(id),
        prefix(std::move(the_prefix)),
        answer(std::move(room), SystemClock().SteadyNow()) {}

  std::unique_ptr<net::StreamHandle> Open(net::HttpClient& client, net::Request request) {
    const auto self = shared_from_this();
    return client.Open(
        std::move(request), kPassedTimeout,
        {.on_head = [self](int status,
                           const net::Headers& headers) { self->answer.SetHead(status, headers); },
         .on_data =
             [self](std::string_view piece) {
               if (self->is_over) return;
               if (auto error = self->answer.Add(piece, SystemClock().SteadyNow())) {
                 self->Refuse(*error);
               }
             },
         .on_end =
             [self](const Status& status) {
               if (self->is_over) return;
               if (!status) return self->Refuse(NotReached(status.error().message));
               net::Response response = self->answer.Take();
               response.headers =
                   ReturnedHeaders(response.headers, self->prefix, self->exchange->audit_id);
               self->exchange->responder->Send(std::move(response));
               self->End();
             }});
  }

  void Refuse(const ApiError& error) {
    exchange->SendError(error);
    End();
  }
  void End() {
    is_over = true;
    if (const auto there = calls.lock()) there->Take(call);
  }

  const std::shared_ptr<Exchange> exchange;
  const std::weak_ptr<PassedCalls> calls;
  const std::int64_t call;
  const std::string prefix;
  CollectedAnswer answer;
  bool is_over = false;
};

// One call whose answer passes on. A client that does not read it is cut, as those of this server's
// own watches.
struct PassedCalls::Watching : std::enable_shared_from_this<PassedCalls::Watching> {
  Watching(std::shared_ptr<Exchange> the_exchange, std::weak_ptr<PassedCalls> the_calls,
           std::int64_t id)
      : exchange(std::move(the_exchange)), calls(std::move(the_calls)), call(id) {}

  std::unique_ptr<net::StreamHandle> Open(net::HttpClient& client, net::Request request,
                                          Duration silence) {
    const auto self = shared_from_this();
    return client.Open(
        std::move(request), silence,
        {.on_head = [self](int status,
                           const net::Headers& headers) { self->Begin(status, headers); },
         .on_data =
             [self](std::string_view piece) {
               if (self->stream != nullptr && !self->stream->Write(std::string(piece))) self->End();
             },
         .on_end =
             [self](const Status& status) {
               if (self->stream == nullptr && !status) {
                 self->exchange->SendError(NotReached(status.error().message));
               }
               if (self->stream != nullptr) self->stream->Close();
               self->End();
             }});
  }

  void Begin(int status, const net::Headers& headers) {
    stream =
        exchange->responder->StartStream(status, ReturnedHeaders(headers, "", exchange->audit_id));
    stream->OnGone([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->End();
    });
  }
  void End() {
    if (const auto there = calls.lock()) there->Take(call);
  }

  const std::shared_ptr<Exchange> exchange;
  const std::weak_ptr<PassedCalls> calls;
  const std::int64_t call;
  std::shared_ptr<net::Stream> stream;  // null: the answer has not begun
};

std::int64_t PassedCalls::Add(const Exchange& exchange, std::shared_ptr<net::HttpClient> client) {
  {
    const std::lock_guard lock(mutex_);
    const std::string& user = exchange.user.name;
    const auto held = std::count_if(calls_.begin(), calls_.end(),
                                    [&](const auto& each) { return each.second.user == user; });
    if (!is_stopped_ && HasShare(static_cast<std::size_t>(held), calls_.size(), most_)) {
      calls_[++last_] = {user, std::move(client), nullptr};
      return last_;
    }
  }
  exchange.SendError({429,
                      "TooManyRequests",
                      "too many requests are being passed on",
                      {{"retryAfterSeconds", 1}}});
  return 0;
}

void PassedCalls::SetAnswer(std::int64_t call, std::unique_ptr<net::StreamHandle> answer) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  if (found != calls_.end()) found->second.answer = std::move(answer);
}

PassedCalls::Call PassedCalls::Take(std::int64_t call) {
  const std::lock_guard lock(mutex_);
  auto node = calls_.extract(call);
  return node.empty() ? Call{} : std::move(node.mapped());
}

void PassedCalls::Stop() {
  std::map<std::int64_t, Call> calls;  // its end waits for callbacks, which take the lock
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  calls.swap(calls_);
}

void PassedCalls::Send(const std::shared_ptr<Exchange>& exchange,
                       std::shared_ptr<net::HttpClient> client, net::Request request,
                       std::string prefix) {
  const std::int64_t call = Add(*exchange, client);
  if (call == 0) return;
  const auto collecting =
      std::make_shared<Collecting>(exchange, weak_from_this(), call, room_, std::move(prefix));
  SetAnswer(call, collecting->Open(*client, std::move(request)));
}

void PassedCalls::Watch(const std::shared_ptr<Exchange>& exchange,
                        std::shared_ptr<net::HttpClient> client, net::Request request,
                        Duration silence) {
  const std::int64_t call = Add(*exchange, client);
  if (call == 0) return;
  const auto watching = std::make_shared<Watching>(exchange, weak_from_this(), call);
  SetAnswer(call, watching->Open(*client, std::move(request), silence));
}

}  // namespace berth::local
