// local/apiserver/schema/quantity_text.h — the canonical text of Kubernetes quantities, as written
// to built-in kinds. Exact for every quantity that the API accepts.
//
// Source: k8s.io/apimachinery resource.Quantity (serialization rules), restated.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::local {

// "0.5" → "500m", "1024Mi" → "1Gi", "1500m" stays, "0.5Gi" → "512Mi", "1e3" → "1e3", "1E" → "1E".
// nullopt when `text` is not a quantity.
std::optional<std::string> CanonicalQuantity(std::string_view text);

}  // namespace berth::local
