#include "readapi/openapi.h"

#include <nlohmann/json.hpp>

#include "api/codec/json_write.h"
#include "readapi/caller.h"
#include "readapi/forms.h"
#include "readapi/query.h"
#include "readapi/schema.h"

namespace berth::readapi {
namespace {

using Json = nlohmann::json;

Json TypeOf(FieldType type) {
  switch (type) {
    case FieldType::kText: return {{"type", "string"}};
    case FieldType::kNumber: return {{"type", {"integer", "null"}}, {"format", "int64"}};
    case FieldType::kTime: return {{"type", {"string", "null"}}, {"format", "date-time"}};
    case FieldType::kObject: return {{"type", {"object", "null"}}};
    case FieldType::kList: return {{"type", "array"}, {"items", {{"type", {"object", "string"}}}}};
  }
  return Json::object();
}

// "Workloads" of "workloads", for names of schemas and operations.
std::string TitleOf(const Resource& resource) {
  std::string title = resource.name;
  title[0] = static_cast<char>(title[0] - 'a' + 'A');
  return title;
}

Json Schema(const Resource& resource) {
  Json properties = {{"id", {{"type", "string"}, {"description", "namespace/name, or a name"}}}};
  for (const Field& field : resource.fields) {
    properties[field.name] = field.form == nullptr ? TypeOf(field.type) : SchemaOfType(field.form);
    properties[field.name]["description"] = field.description;
  }
  return {{"type", "object"},
          {"description", resource.description},
          {"required", {"id"}},
          {"properties", std::move(properties)}};
}

Json PageSchema(const Resource& resource) {
  return {
      {"type", "object"},
      {"required", {"items", "revision"}},
      {"properties",
       {{"items",
         {{"type", "array"}, {"items", {{"$ref", "#/components/schemas/" + TitleOf(resource)}}}}},
        {"counts",
         {{"type", "array"},
          {"description", "numbers of rows by the values of `countBy`; absent without it"},
          {"items", SchemaOfType("Count")}}},
        {"next",
         {{"type", "string"}, {"description", "`cursor` of the next page; absent: the last"}}},
        {"revision",
         {{"type", "string"}, {"description", "`cursor` of the events that follow this page"}}}}}};
}

Json Parameter(const std::string& name, const std::string& description, Json schema) {
  return {{"name", name},
          {"in", "query"},
          {"required", false},
          {"description", description},
          {"schema", std::move(schema)}};
}

// A list of values with commas between them.
Json ListParameter(const std::string& name, const std::string& description, Json item,
                   std::size_t most) {
  Json parameter = Parameter(name, description,
                             {{"type", "array"}, {"items", std::move(item)}, {"maxItems", most}});
  parameter["style"] = "form";
  parameter["explode"] = false;
  return parameter;
}

Json NamespaceParameter() {
  return ListParameter("namespace",
                       "rows of these namespaces; needed without the right in all namespaces",
                       {{"type", "string"}}, kMaxNamespaces);
}

Json QueryParameters(const Resource& resource) {
  Json list = Json::array({NamespaceParameter()});
  Json fields = Json::array();
  Json orders = Json::array();
  for (const Field& field : resource.fields) {
    const std::string name = field.name;
    fields.push_back(name);
    if (field.is_sort()) {
      orders.push_back(name);
      orders.push_back("-" + name);
    }
    if (field.is_prefix()) {
      list.push_back(ListParameter(name, "rows that begin with one of these values",
                                   {{"type", "string"}}, kMaxFilterValues));
    }
    if (!field.is_filter() || name == "namespace") continue;
    const char* type = field.type == FieldType::kNumber ? "integer" : "string";
    list.push_back(
        ListParameter(name, "rows with one of these values", {{"type", type}}, kMaxFilterValues));
  }
  if (!orders.empty()) {
    list.push_back(Parameter("sort", "order of the rows; \"-\": the reverse; absent: by id",
                             {{"type", "string"}, {"enum", std::move(orders)}}));
  }
  list.push_back(Parameter(
      "limit", "rows of a page",
      {{"type", "integer"}, {"minimum", 1}, {"maximum", kMaxLimit}, {"default", kUsualLimit}}));
  Json counted = Json::array();
  for (const Field& field : resource.fields) {
    if (field.is_filter()) counted.push_back(field.name);
  }
  if (!counted.empty()) {
    list.push_back(Parameter("countBy", "`counts` by the values of this field in place of rows",
                             {{"type", "string"}, {"enum", std::move(counted)}}));
  }
  list.push_back(ListParameter("fields", "fields of the rows; absent: all",
                               {{"type", "string"}, {"enum", std::move(fields)}},
                               resource.fields.size()));
  list.push_back(Parameter("cursor", "`next` of the page before",
                           {{"type", "string"}, {"maxLength", kMaxCursorBytes}}));
  return list;
}

Json Content(const char* type, Json schema) {
  return {{"content", {{type, {{"schema", std::move(schema)}}}}}};
}

Json Responses(Json answer) {
  answer["description"] = "the answer";
  Json responses = {{"200", std::move(answer)}};
  const std::pair<const char*, const char*> refusals[] = {
      {"400", "the query is malformed; the message names the parameter"},
      {"401", "no token, or a token of nobody"},
      {"403", "the caller may not list this"},
      {"404", "no such path, or no such row that the caller may see"},
      {"503", "not ready, or too many requests; try again after Retry-After"}};
  for (const auto& [code, description] : refusals) {
    responses[code] = Content("application/json", {{"$ref", "#/components/schemas/Problem"}});
    responses[code]["description"] = description;
  }
  return responses;
}

Json ListPath(const Resource& resource) {
  Json responses = Responses(Content(
      "application/json", {{"$ref", "#/components/schemas/" + TitleOf(resource) + "Page"}}));
  responses["304"] = {{"description", "nothing differs from the page of If-None-Match"}};
  return {{"get",
           {{"operationId", "list" + TitleOf(resource)},
            {"description", resource.description},
            {"parameters", QueryParameters(resource)},
            {"responses", std::move(responses)}}}};
}

Json PathParameter(const char* name) {
  return {{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}};
}

Json WorkloadPath() {
  return {{"get",
           {{"operationId", "readWorkload"},
            {"description",
             "one Workload with the causal chain of its state, as `berth why`, and its pods; "
             "before: waiting Workloads of all namespaces before it in its ClusterQueue"},
            {"parameters", {PathParameter("namespace"), PathParameter("name")}},
            {"responses", Responses(Content("application/json", SchemaOfType("WorkloadStory")))}}}};
}

Json EventsPath() {
  Json names = Json::array();
  for (const Resource& resource : Resources()) names.push_back(resource.name);
  return {
      {"get",
       {{"operationId", "streamEvents"},
        {"description",
         "server-sent events. `change`: {resource, row | set | removed}; `set` has the id and the "
         "fields that differ. `resync`: changes were missed, list again. `start`, without "
         "`cursor`: "
         "changes behind its id will come; a page of an older `revision` lacks some. Resume with "
         "the header Last-Event-ID, or with `cursor`"},
        {"parameters",
         {ListParameter("resources", "absent: all", {{"type", "string"}, {"enum", names}},
                        names.size()),
          NamespaceParameter(),
          Parameter("cursor", "`revision` of a page; absent: from now on",
                    {{"type", "string"}, {"maxLength", kMaxCursorBytes}})}},
        {"responses", Responses(Content("text/event-stream", {{"type", "string"}}))}}}};
}

Json DaysParameter() {
  return Parameter(
      "days", "until now",
      {{"type", "integer"}, {"minimum", 1}, {"maximum", kMostReportDays}, {"default", 7}});
}

Json ReportedNamespace() {
  return ListParameter("namespace", "attempts of these; needed without the right in all namespaces",
                       {{"type", "string"}}, kMaxNamespaces);
}

Json ReportGroups(ReportQuery::Of of) {
  Json groups = Json::array();
  for (const std::string group : kReportGroups) {
    if (of != ReportQuery::Of::kOverTime || group != "cause") groups.push_back(group);
  }
  return Parameter("by", "a line for each of these",
                   {{"type", "string"}, {"enum", groups}, {"default", "clusterqueue"}});
}

Json ReportsPath() {
  Json responses = Responses(Content("application/json", SchemaOfType("Report")));
  return {{"get",
           {{"operationId", "readReport"},
            {"description", "the accounts of a period, from the ledger, as `berth report`"},
            {"parameters",
             {ReportGroups(ReportQuery::Of::kAccounts), DaysParameter(), ReportedNamespace(),
              Parameter("format", "csv: a file, with a heading",
                        {{"type", "string"}, {"enum", {"json", "csv"}}})}},
            {"responses", std::move(responses)}}}};
}

// Answered with the rights of the caller's token (caller.h).
Json CallerPath(const char* operation, const char* description, Json parameters,
                const char* answer) {
  return {{"get",
           {{"operationId", operation},
            {"description", description},
            {"parameters", std::move(parameters)},
            {"responses", Responses(Content("application/json", SchemaOfType(answer)))}}}};
}

Json PostPath(const char* operation, const char* description, const char* body,
              const char* answer) {
  Json content = Content("application/json", SchemaOfType(body));
  content["required"] = true;
  Json responses = Responses(Content("application/json", SchemaOfType(answer)));
  responses["415"] = {{"description", "the body is not application/json"}};
  return {{"post",
           {{"operationId", operation},
            {"description", description},
            {"requestBody", std::move(content)},
            {"responses", std::move(responses)}}}};
}

// What is told of one Workload.
void AddWorkloadPaths(Json& paths) {
  paths[std::string(kRoot) + "/workloads/{namespace}/{name}/cost"] =
      CallerPath("readCost", "what the nodes of a Workload cost; null: no price is known",
                 Json::array({PathParameter("namespace"), PathParameter("name")}), "CostAnswer");
  paths[std::string(kRoot) + "/workloads/{namespace}/{name}/objects"] = CallerPath(
      "readWorkloadObjects",
      "a Workload and its job as YAML, and their events and those of the first pods; `hidden`: "
      "what the token may not read",
      Json::array({PathParameter("namespace"), PathParameter("name")}), "WorkloadObjects");
  paths[std::string(kRoot) + "/workloads/{namespace}/{name}/log"] = CallerPath(
      "readLog", "the last lines of the log of a container, with the token's rights",
      Json::array(
          {PathParameter("namespace"), PathParameter("name"),
           Parameter("pod", "needed", {{"type", "string"}}),
           Parameter("container", "the default one if it is left out", {{"type", "string"}})}),
      "PodLog");
  paths[std::string(kRoot) + "/workloads/{namespace}/{name}/history"] = CallerPath(
      "readWorkloadHistory",
      "the turns of a Workload, from the ledger, as `berth history`: times, "
      "causes of waits, and the Workload for which it was preempted",
      Json::array({PathParameter("namespace"), PathParameter("name")}), "WorkloadHistory");
}

void AddCallerPaths(Json& paths) {
  const Json namespaces = Json::array({NamespaceParameter()});
  paths[kCapacityPath] =
      CallerPath("readCapacity",
                 "pools, prices, stock, measured cost, as `berth capacity`; `hidden`: the "
                 "kinds that the token may not list",
                 namespaces, "Capacity");
  paths[kTopologyPath] = CallerPath(
      "readTopology", "nodes by their levels, who is on them, what is free, where gangs would fit",
      namespaces, "Topology");
  paths[kLocationsPath] = CallerPath(
      "readLocations",
      "where Workloads run: the remark of each running one that is named, with the nodes of its "
      "pods; `failed`: those whose pods the API server has not given; `namespacesWithoutPods`: "
      "those whose pods the token may not list",
      Json::array({NamespaceParameter(), ListParameter("workload", "NAMESPACE/NAME; needed",
                                                       {{"type", "string"}}, kMaxFilterValues)}),
      "Locations");
  AddWorkloadPaths(paths);
  paths[kHistoryPath] =
      CallerPath("readHistory", "usage and waits of a ClusterQueue over time, from the ledger",
                 Json::array({Parameter("clusterQueue", "needed", {{"type", "string"}}),
                              DaysParameter(), ReportedNamespace()}),
                 "QueueHistory");
  paths[kCohortHistoryPath] = CallerPath(
      "readCohortHistory",
      "what each ClusterQueue below a Cohort used over time, from the ledger; of 256 ClusterQueues "
      "at most",
      Json::array({Parameter("cohort", "needed", {{"type", "string"}}), DaysParameter(),
                   ReportedNamespace()}),
      "CohortHistory");
  paths[kStatesHistoryPath] =
      CallerPath("readWorkloadStates",
                 "how many workloads waited, by cause, had quota, and ran over time, from the "
                 "ledger: mean numbers of each part of the period",
                 Json::array({DaysParameter(), ReportedNamespace()}), "WorkloadStates");
  paths[kReportHistoryPath] = CallerPath(
      "readReportHistory",
      "the accounts of a period over time, from the ledger: hours used and destroyed, waits and "
      "costs of each part of the period. Further lines are summed",
      Json::array({ReportGroups(ReportQuery::Of::kOverTime), DaysParameter(), ReportedNamespace()}),
      "ReportHistory");
  paths[kCapacityHistoryPath] = CallerPath(
      "readCapacityHistory",
      "what was asked of clouds over time, by class and by shape, the nodes of pools, and prices, "
      "from the ledger; prices are for readers of all namespaces",
      Json::array({DaysParameter(), ReportedNamespace()}), "CapacityHistory");
  paths[kWhatIfPath] =
      PostPath("askWhatIf",
               "what a change would do to the jobs, as `berth what-if`; nothing is written. "
               "quota: QUEUE/FLAVOR/RESOURCE=AMOUNT; priority: job/NAME=NUMBER; stop: QUEUE",
               "WhatIfChanges", "WhatIf");
  paths[kActionsPath] =
      PostPath("act",
               "a write with the rights of the token, off by default. stop (drain), resume: of "
               "clusterQueue or localQueue (NAMESPACE/NAME); priority, deactivate, activate: of "
               "workload (NAMESPACE/NAME); stock: the machines of a nodePool of the emulated "
               "cloud, or of its zone",
               "Action", "Done");
}

Json PageOperation(const char* name, const char* description, const char* form) {
  return {{"operationId", name},
          {"tags", Json::array({"page"})},
          {"description", description},
          {"responses", Responses(Content("application/json", SchemaOfType(form)))}};
}

// The session of the page (sign_in.h).
Json SessionPath() {
  const auto operation = [](const char* name, const char* description) {
    return PageOperation(name, description, "Session");
  };
  Json path = {{"get", operation("readSession", "whose session the cookie stands for")},
               {"post", operation("signIn",
                                  "exchanges a token, a code that was printed, or what an OpenID "
                                  "provider has sent the browser back with, for a cookie; for "
                                  "browsers alone")},
               {"delete", operation("signOut", "ends the session; needs the header X-Berth-CSRF")}};
  path["get"]["security"] = path["post"]["security"] = Json::array();
  path["post"]["requestBody"] = Content("application/json", SchemaOfType("SignIn"));
  path["post"]["requestBody"]["required"] = true;
  path["delete"]["security"] = Json::array({{{"session", Json::array()}}});
  return path;
}

Json OpenIdPath() {
  Json path = {{"post", PageOperation("beginOpenId",
                                      "the address of the OpenID provider at which a browser signs "
                                      "in, and a cookie that the browser comes back with",
                                      "OpenIdAddress")}};
  path["post"]["security"] = Json::array();
  return path;
}

}  // namespace

std::string OpenApiDocument(const std::string& version) {
  Json schemas = {
      {"Problem",
       {{"type", "object"},
        {"required", {"status", "message"}},
        {"properties", {{"status", {{"type", "integer"}}}, {"message", {{"type", "string"}}}}}}}};
  Json paths = {{std::string(kRoot) + "/workloads/{namespace}/{name}", WorkloadPath()},
                {kEventsPath, EventsPath()},
                {kReportsPath, ReportsPath()},
                {kOpenIdPath, OpenIdPath()},
                {kSessionPath, SessionPath()}};
  for (const Resource& resource : Resources()) {
    schemas[TitleOf(resource)] = Schema(resource);
    schemas[TitleOf(resource) + "Page"] = PageSchema(resource);
    paths[std::string(kRoot) + "/" + resource.name] = ListPath(resource);
  }
  schemas.update(FormSchemas());
  AddCallerPaths(paths);
  const Json document = {
      {"openapi", "3.1.0"},
      {"info", {{"title", "Berth read API"}, {"version", version}}},
      {"security", Json::array({{{"bearer", Json::array()}}, {{"session", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"securitySchemes",
         {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
          {"session",
           {{"type", "apiKey"},
            {"in", "cookie"},
            {"name", "__Host-berth-PORT"},
            {"description", "of the page; what writes needs the header X-Berth-CSRF, too"}}}}}}}};
  return api::FormatIndentedJson(document, 1) + "\n";
}

}  // namespace berth::readapi
