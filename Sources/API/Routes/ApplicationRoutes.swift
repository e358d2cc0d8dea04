import Federation
import HTTPTypes
import Hummingbird
import Identity
import NIOCore

/// Mounts routes under `/{applicationId}/{apiKey}` and resolves the application in front of every handler.
struct ApplicationRoutes {
    let router: Router<APIContext>
    let directory: ApplicationDirectory

    typealias Handler = @Sendable (Request, APIContext, LoadedApplication) async throws -> Response

    /// The methods that clients may try; any other is unknown to the router and answered as not found.
    private static let methods: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]

    /// Mounts a handler, and the answer `method_not_allowed` for every other method of the path.
    func on(_ method: HTTPRequest.Method, _ path: String, use handler: @escaping Handler) {
        let path = RouterPath("/:applicationId/:apiKey/" + path)
        router.on(path, method: method) { [directory] request, context in
            let application = try directory.application(
                id: context.parameters.get("applicationId")?[...] ?? "",
                key: context.parameters.get("apiKey")?[...] ?? ""
            )
            return try await handler(request, context, application)
        }
        for other in Self.methods where other != method {
            router.on(path, method: other) { _, _ -> Response in
                throw Failure(
                    .methodNotAllowed,
                    "This path takes \(method.rawValue) only.",
                    details: ["allow": .string(method.rawValue)]
                )
            }
        }
    }
}

extension Request {
    /// The session token of the header, if it can be one of ours.
    var userToken: SessionToken? {
        headers[.userToken].flatMap { SessionToken(received: $0) }
    }

    /// The whole body.
    ///
    /// - Throws: `unsupported_media_type` unless it is said to be JSON, `payload_too_large` beyond 64 KiB.
    func jsonBody() async throws -> [UInt8] {
        guard let type = headers[.contentType], Self.isJSON(type) else {
            throw Failure(.unsupportedMediaType, "The body must be JSON, sent with Content-Type: application/json.")
        }
        let tooLarge = Failure(.payloadTooLarge, "The body is larger than \(LoginRoutes.bodyLimit) bytes.")
        if let length = headers[.contentLength].flatMap({ Int($0) }), length > LoginRoutes.bodyLimit { throw tooLarge }
        do {
            let buffer = try await body.collect(upTo: LoginRoutes.bodyLimit)
            return Array(buffer.readableBytesView)
        } catch is NIOTooManyBytesError {
            throw tooLarge
        } catch {
            // The client hung up or broke the framing; whether it still reads the answer is its matter.
            throw Failure(.malformedRequest, "The body did not arrive whole.")
        }
    }

    /// `application/json`, with or without parameters.
    private static func isJSON(_ type: String) -> Bool {
        let essence = type.utf8.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != 0x20 && $0 != 0x09 }
        return essence.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }.elementsEqual("application/json".utf8)
    }
}
