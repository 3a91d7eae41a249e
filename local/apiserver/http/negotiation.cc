#include "local/apiserver/http/negotiation.h"

#include "base/strings.h"

namespace berth::local {
namespace {

constexpr std::string_view kAggregated = "APIGroupDiscoveryList";

MediaType ParseClause(std::string_view clause) {
  MediaType media;
  const std::vector<std::string_view> parts = Split(clause, ';');
  media.type = ToLower(TrimSpace(parts[0]));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = TrimSpace(parts[i]);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) continue;
    media.parameters.emplace_back(ToLower(part.substr(0, equals)),
                                  std::string(part.substr(equals + 1)));
  }
  return media;
}

std::optional<Negotiated> Satisfy(const MediaType& media, Offer offer) {
  const bool json =
      media.type == "application/json" || media.type == "*/*" || media.type == "application/*";
  if (!json) return std::nullopt;
  const std::string as = media.Parameter("as");
  Negotiated answer;
  if (as.empty()) return answer;
  const std::string group = media.Parameter("g");
  const std::string version = media.Parameter("v");
  if (offer == Offer::kDiscovery) {
    if (as != kAggregated || group != "apidiscovery.k8s.io") return std::nullopt;
    if (version != "v2" && version != "v2beta1") return std::nullopt;
    answer.form = Form::kAggregatedDiscovery;
    answer.api_version = group + "/" + version;
    answer.content_type = "application/json;g=" + group + ";v=" + version + ";as=" + as;
    return answer;
  }
  if (offer != Offer::kTransforms || group != "meta.k8s.io") return std::nullopt;
  if (version != "v1" && version != "v1beta1") return std::nullopt;
  answer.api_version = group + "/" + version;
  if (as == "Table") {
    answer.form = Form::kTable;
    return answer;
  }
  if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    answer.form = Form::kPartialMetadata;
    return answer;
  }
  return std::nullopt;
}

}  // namespace

std::string MediaType::Parameter(std::string_view name) const {
  for (const auto& [key, value] : parameters) {
    if (key == name) return value;
  }
  return "";
}

std::vector<MediaType> ParseAccept(std::string_view accept) {
  std::vector<MediaType> clauses;
  for (const std::string_view clause : Split(accept, ',')) {
    if (!TrimSpace(clause).empty()) clauses.push_back(ParseClause(clause));
  }
  return clauses;
}

std::optional<Negotiated> Negotiate(std::string_view accept, Offer offer) {
  const std::vector<MediaType> clauses = ParseAccept(accept);
  if (clauses.empty()) return Negotiated{};
  for (const MediaType& clause : clauses) {
    if (auto answer = Satisfy(clause, offer)) return answer;
  }
  return std::nullopt;
}

}  // namespace berth::local
