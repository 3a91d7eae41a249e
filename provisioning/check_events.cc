#include "provisioning/check_events.h"

#include <utility>

#include "base/strings.h"
#include "provisioning/request_reasons.h"

namespace berth::provisioning {
namespace {

std::string_view ActorName(WhoActs who) {
  switch (who) {
    case WhoActs::kNobody: return "nobody";
    case WhoActs::kUser: return "the user";
    case WhoActs::kAdmin: return "an administrator";
    case WhoActs::kCloud: return "the cloud";
  }
  return "";
}

}  // namespace

std::optional<CheckEvent> AdviceOn(const std::string& check, const std::string& reason,
                                   bool has_policy) {
  const ReasonInfo& info = Explain(reason);
  if (info.reason_class == ReasonClass::kProgress) return std::nullopt;
  std::string message = check + ": " + reason + " (" +
                        std::string(ReasonClassName(info.reason_class)) +
                        "): " + std::string(info.remedy);
  if (has_policy) {
    message += "; " + std::string(ActorName(info.who)) +
               (info.who == WhoActs::kNobody ? " needs to act" : " can act");
  }
  return CheckEvent{"CapacityAdvice", std::move(message)};
}

std::string VetoMessage(const std::string& begin, const std::string& passed_over,
                        const std::vector<std::string>& reasons) {
  std::string message = begin + passed_over;
  for (const std::string& reason : reasons) {
    const ReasonInfo& info = Explain(reason);
    if (info.who == WhoActs::kNobody) continue;
    message += ". What helps (" + std::string(ActorName(info.who)) + "): ";
    message += info.remedy;
  }
  return std::string(TruncateUtf8(message, checks::kMaxEventBytes));
}

std::vector<CheckEvent> AdviceOnVetoes(const std::string& check,
                                       const std::vector<std::string>& reasons,
                                       const std::string& told) {
  std::vector<CheckEvent> events;
  for (const std::string& reason : reasons) {
    if (told.find("(" + reason + "): ") != std::string::npos) continue;
    if (auto advice = AdviceOn(check, reason, /*has_policy=*/true)) {
      events.push_back(*std::move(advice));
    }
  }
  return events;
}

}  // namespace berth::provisioning
