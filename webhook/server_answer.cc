// Answers one request of an API server; webhook_server.cc has the network.
#include <utility>

#include <nlohmann/json.hpp>

#include "api/codec/json_tree.h"
#include "api/codec/json_write.h"
#include "webhook/version_conversion.h"
#include "webhook/webhook_server.h"

namespace berth::webhook {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kConversionPath = "/convert";
// Reviews carry the object twice (new and old).
constexpr std::size_t kMaxBodyValues = 1'000'000;

net::Response Plain(int status, std::string text) {
  net::Response response;
  response.status = status;
  response.headers.Add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(text) + "\n";
  return response;
}

net::Response Answered(const Json& body) {
  net::Response response;
  response.headers.Add("Content-Type", "application/json");
  response.body = api::FormatJson(body);
  return response;
}

}  // namespace

net::Response AnswerWebhook(const net::Request& request, const JobReviews& jobs,
                            const ReviewGates& gates) {
  const std::string path = request.target.substr(0, request.target.find('?'));
  if (path != kConversionPath && !IsReviewPath(path, jobs))
    return Plain(404, "no webhook at " + path);
  if (request.method != "POST") return Plain(405, "webhooks are called with POST");
  const std::string_view type = request.headers.Find("Content-Type");
  if (type.substr(0, type.find(';')) != "application/json") {
    return Plain(415, "Content-Type must be application/json");
  }
  const Result<Json> review = api::ParseJson(request.body, {.max_values = kMaxBodyValues});
  if (!review) return Plain(400, "the body: " + review.error().message);
  if (path == kConversionPath) return Answered(AnswerConversion(*review));
  const Result<Json> answer = Review(path, *review, jobs, gates);
  if (!answer) return Plain(400, answer.error().message);
  return Answered(*answer);
}

}  // namespace berth::webhook
