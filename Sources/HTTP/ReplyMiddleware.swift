import Domain
package import HTTPTypes
package import Hummingbird
import Logging

/// A middleware of both listeners that turns errors into responses, and adds headers to every response.
package struct ReplyMiddleware<Context: HTTPContext>: RouterMiddleware {
    private let errors: @Sendable (Request) -> any ErrorTable

    /// - Parameter errors: Returns the ``ErrorTable`` of the protocol that a request uses.
    package init(errors: @escaping @Sendable (Request) -> any ErrorTable) {
        self.errors = errors
    }

    package func handle(
        _ request: Request,
        context: Context,
        next: (Request, Context) async throws -> Response
    ) async throws -> Response {
        var response: Response
        do {
            response = try await next(request, context)
        } catch {
            response = reply(to: error, request, context)
        }
        response.headers[.xRequestID] = context.requestID
        response.headers[.xContentTypeOptions] = "nosniff"
        // A client sets this when it wants no further response. `RequestRules` sets it when it reads no further
        // request.
        if request.headers[.connection] == "close" { response.headers[.connection] = "close" }
        // A client would take a body for the beginning of the next response on the connection.
        return request.method == .head ? response.createHeadResponse() : response
    }

    // Not part of `handle`, so that a request under way keeps nothing of this in memory.
    @inline(never)
    private func reply(to error: any Error, _ request: Request, _ context: Context) -> Response {
        switch error {
        case let failure as Failure:
            failure.logCause(in: context)
            return errors(request).response(to: failure, requestID: context.requestID)
        case let error as any HTTPResponseError:
            return errors(request).response(to: Failure(httpStatus: error.status), requestID: context.requestID)
        default:
            context.logger.error("request failed", metadata: ["cause": "\(type(of: error))"])
            return errors(request).response(to: .unexpected, requestID: context.requestID)
        }
    }
}

extension HTTPField.Name {
    static let xRequestID = HTTPField.Name(known: "X-Request-Id")
    package static let referrerPolicy = HTTPField.Name(known: "Referrer-Policy")
    package static let xForwardedFor = HTTPField.Name(known: "X-Forwarded-For")

    /// Creates a header name from a text that is known to be valid; an invalid text ends the process.
    package init(known name: String) {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no header name") }
        self = name
    }
}

extension Failure {
    /// Logs the failure of a request, if the failure has a cause and has not been logged yet.
    ///
    /// ``ReplyMiddleware`` calls this for each failure that is thrown to it. A route that itself responds to a failure
    /// calls this, too.
    package func logCause<Context: HTTPContext>(in context: Context) {
        guard !isLogged, let cause else { return }
        let metadata: Logger.Metadata = ["reason": "\(reason.rawValue)", "cause": "\(cause)"]
        context.logger.log(level: isOwnFault ? .error : .notice, "request failed", metadata: metadata)
    }

    static let unexpected = Failure(.internal, "The service failed. Find the cause in its log by the request id.")

    /// Creates a failure for the status of an error that the HTTP library throws, such as 404 for an unknown path.
    fileprivate init(httpStatus: HTTPResponse.Status) {
        switch httpStatus {
        case .notFound:
            self.init(.notFound, "This path does not exist.")
        case .contentTooLarge:
            self.init(.payloadTooLarge, "The body is larger than \(Request.bodyLimit) bytes.")
        default:
            self.init(.malformedRequest, "The request cannot be processed.")
        }
    }
}
