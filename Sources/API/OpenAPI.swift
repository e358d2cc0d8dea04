/// The OpenAPI document of the management listener, as docs/openapi/ has it and as it is served; a test holds it to the
/// routes.
enum OpenAPI {
    static let management = PackageResources.management_json
}
