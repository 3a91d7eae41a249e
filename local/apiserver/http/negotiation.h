// local/apiserver/http/negotiation.h — selects the form of an answer from the Accept header.
//
// Clauses are tried in the client's order; unsupported ones are skipped. Answers are never
// protobuf: clients that prefer protobuf accept JSON too.
// Source: Kubernetes API concepts, resource representations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace berth::local {

enum class Form {
  kObject,
  kTable,
  kPartialMetadata,
  kAggregatedDiscovery,
};

struct MediaType {
  std::string type;  // "application/json", lower case
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string Parameter(std::string_view name) const;
};

std::vector<MediaType> ParseAccept(std::string_view accept);

struct Negotiated {
  Form form = Form::kObject;
  std::string api_version = "meta.k8s.io/v1";  // the version of a Table or of partial metadata
  std::string content_type = "application/json";
};

// The forms that an endpoint offers beside plain JSON.
enum class Offer { kPlain, kTransforms, kDiscovery };

// nullopt: answer 406.
std::optional<Negotiated> Negotiate(std::string_view accept, Offer offer);

}  // namespace berth::local
