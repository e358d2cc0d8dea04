/// The OpenAPI documents of docs/openapi/, as they are served; a test holds them to the routes.
enum OpenAPI {
    static let `public` = PackageResources.public_json
    static let management = PackageResources.management_json
}
