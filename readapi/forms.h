// readapi/forms.h — the forms of objects within the answers of /api/v1, for the OpenAPI document.
//
// A form is a table of keys and types: "text", "whole", "number", "yes", "time", a form's name,
// each with "[]" for a list and "|null" behind it; a key with "?" may be absent.
//
// Threads: pure functions. Errors: none.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace berth::readapi {

// The schema of a type of this notation: "Amount[]", "time|null".
nlohmann::json SchemaOfType(std::string_view type);
// The schemas of all forms, by their names.
nlohmann::json FormSchemas();

}  // namespace berth::readapi
