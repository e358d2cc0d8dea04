package import Description
package import HTTP
import HTTPTypes
package import Hummingbird

/// A base path: the beginning of the paths by which a request names its application.
///
/// The service itself has two: `/{applicationId}/{apiKey}`, and `/api` on a host name of the application. A client
/// protocol may add others (`ClientProtocol.bases`). The id of an application may equal the fixed first segment of
/// another base path. Then the second segment distinguishes them, since an API key has at least 16 characters.
package struct ApplicationBase: Sendable {
    /// What names the application in a request.
    package enum Address: Sendable {
        /// The API key and the id of the application.
        ///
        /// The id is nil if the request names the application only by the key.
        case key(Substring, of: Substring?)
        case host(Substring)

        /// The API key as the client has sent it.
        var key: String? {
            guard case .key(let key, _) = self else { return nil }
            return String(key)
        }
    }

    let path: String
    /// The base path's URL in the OpenAPI document; nil if the document leaves this base path out.
    let server: ServerAddress?
    let address: @Sendable (Request, APIContext) -> Address

    /// Creates a base path.
    ///
    /// - Parameters:
    ///   - path: The text before the path of a route, such as `/v1/`.
    ///   - server: The base path's URL in the OpenAPI document; nil if the document leaves this base path out.
    ///   - address: Returns what names the application in a request.
    package init(
        _ path: String,
        server: ServerAddress? = nil,
        address: @escaping @Sendable (Request, APIContext) -> Address
    ) {
        (self.path, self.server, self.address) = (path, server, address)
    }

    /// The first path segment of requests that name the application by one of its host names.
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

    /// Returns the base path that consists of an application's id and an API key.
    ///
    /// `first` is its first segment. Usually this is a parameter for the id. It may also be the fixed first segment of
    /// another base path, since an application may have this text as its id.
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
