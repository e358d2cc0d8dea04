package import Description
package import HTTP
import HTTPTypes
package import Hummingbird

/// The beginning of an application's paths, and the way from a request to its application.
///
/// The service has two bases of its own: `/{applicationId}/{apiKey}`, and `/api` on a host name of the application. A
/// protocol may add others (`ClientProtocol.bases`). An application may have the fixed first segment of a base as its
/// id: the second segment tells the bases apart, since a key has at least 16 characters.
package struct ApplicationBase: Sendable {
    /// The part of a request that names the application.
    package enum Address: Sendable {
        /// The API key, with the application's id where the path has one.
        case key(Substring, of: Substring?)
        case host(Substring)

        /// The API key as the client sent it.
        var key: String? {
            guard case .key(let key, _) = self else { return nil }
            return String(key)
        }
    }

    let path: String
    /// The address of the base in the OpenAPI document; nil for a base that the document leaves out.
    let server: ServerAddress?
    let address: @Sendable (Request, APIContext) -> Address

    /// - Parameters:
    ///   - path: The text before the path of a route, such as `/v1/`.
    ///   - server: The address of the base in the OpenAPI document; nil for a base that the document leaves out.
    ///   - address: Returns the part of a request that names the application.
    package init(
        _ path: String,
        server: ServerAddress? = nil,
        address: @escaping @Sendable (Request, APIContext) -> Address
    ) {
        (self.path, self.server, self.address) = (path, server, address)
    }

    /// The first segment of host-bound paths.
    package static let hostBound = "api"

    static let host = ApplicationBase(
        "/\(hostBound)/",
        server: ServerAddress(
            "https://{host}/\(hostBound)",
            "On a host name of the application's.",
            variables: [
                (
                    "host", "users.example.com",
                    "One of the application's host names; none is known unless the operator set it."
                )
            ]
        )
    ) { request, _ in .host(request.hostName ?? "") }

    /// Returns the base of the application's id and key.
    ///
    /// The first segment is a parameter, or the fixed segment of another base, which may also be an application's id.
    static func key(below first: String) -> ApplicationBase {
        let server = ServerAddress(
            "\(ServerAddress.local)/{application}/{key}",
            "Both parts belong to the path of every request.",
            variables: [
                ServerAddress.application, ("key", "demo-key-0123456789abcdef", "One of the application's API keys."),
            ]
        )
        return ApplicationBase("/\(first)/{apiKey}/", server: first.hasPrefix("{") ? server : nil) { _, context in
            .key(context.parameters["apiKey"] ?? "", of: context.parameters["applicationId"] ?? first[...])
        }
    }
}
