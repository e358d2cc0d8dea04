package import Description
package import HTTP
import HTTPTypes
package import Hummingbird

/// The beginning of an application's paths.
///
/// It determines how a request names its application. The service has two bases of its own:
/// `/{applicationId}/{apiKey}`, and `/api` on a host name of the application. A protocol may add further bases
/// (`ClientProtocol.bases`). The id of an application may equal the fixed first segment of a base. Then the second
/// segment distinguishes the bases, since a key has at least 16 characters.
package struct ApplicationBase: Sendable {
    /// The part of a request that names the application.
    package enum Address: Sendable {
        /// The API key.
        ///
        /// If the path contains the application's id, also this id.
        case key(Substring, of: Substring?)
        case host(Substring)

        /// The API key as the client has sent it.
        var key: String? {
            guard case .key(let key, _) = self else { return nil }
            return String(key)
        }
    }

    let path: String
    /// The base's URL in the OpenAPI document; nil if the document leaves the base out.
    let server: ServerAddress?
    let address: @Sendable (Request, APIContext) -> Address

    /// - Parameters:
    ///   - path: The text before the path of a route, such as `/v1/`.
    ///   - server: The base's URL in the OpenAPI document; nil if the document leaves the base out.
    ///   - address: Returns the part of a request that names the application.
    package init(
        _ path: String,
        server: ServerAddress? = nil,
        address: @escaping @Sendable (Request, APIContext) -> Address
    ) {
        (self.path, self.server, self.address) = (path, server, address)
    }

    /// The first segment of paths on an application's own host name.
    package static let hostBound = "api"

    static let host = ApplicationBase(
        "/\(hostBound)/",
        server: ServerAddress(
            "https://{host}/\(hostBound)",
            "On a host name of the application.",
            variables: [
                (
                    "host", "users.example.com",
                    "One of the application's host names, if the operator has set any."
                )
            ]
        )
    ) { request, _ in .host(request.hostName ?? "") }

    /// Returns the base that consists of an application's id and an API key.
    ///
    /// The first segment is a parameter. Or it is the fixed segment of another base, since an application's id may
    /// equal it.
    static func key(below first: String) -> ApplicationBase {
        let server = ServerAddress(
            "\(ServerAddress.local)/{application}/{key}",
            "Both are part of the path of every request.",
            variables: [
                ServerAddress.application, ("key", "demo-key-0123456789abcdef", "One of the application's API keys."),
            ]
        )
        return ApplicationBase("/\(first)/{apiKey}/", server: first.hasPrefix("{") ? server : nil) { _, context in
            .key(context.parameters["apiKey"] ?? "", of: context.parameters["applicationId"] ?? first[...])
        }
    }
}
