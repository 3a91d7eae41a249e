#include "view/read_objects.h"

#include <nlohmann/json.hpp>

namespace berth::view {

FindReadObject ReadsFrom(Session& session) {
  return [&session](const integrations::ReadRule& rule, const std::string& namespace_name,
                    const std::string& name) -> std::shared_ptr<const nlohmann::json> {
    const std::string version = rule.resource.api_version();
    std::string path = (version.find('/') == std::string::npos ? "/api/" : "/apis/") + version;
    if (rule.resource.namespaced) path += "/namespaces/" + namespace_name;
    path += "/" + std::string(rule.resource.plural) + "/" + name;
    auto answers = session.GetAll({path});
    if (answers.empty() || !answers.front()) return nullptr;
    return std::make_shared<const nlohmann::json>(*std::move(answers.front()));
  };
}

}  // namespace berth::view
