// Prints the OpenAPI document of /api/v1, as a server answers it; for tools/read-api-clients.
#include <iostream>

#include "readapi/openapi.h"

int main() { std::cout << berth::readapi::OpenApiDocument(""); }
