package import Domain
package import Encodings
package import HTTPTypes
package import Hummingbird

/// Turns a failure into the status and body of a response, as one protocol of the service requires.
package protocol ErrorTable: Sendable {
    func status(of reason: Failure.Reason) -> HTTPResponse.Status

    /// Writes the response body of a failure.
    func write(_ failure: Failure, requestID: String, into writer: inout JSONWriter)
}

extension ErrorTable {
    /// Returns the response to a failure, with the HTTP headers for its reason.
    package func response(to failure: Failure, requestID: String) -> Response {
        var writer = JSONWriter()
        write(failure, requestID: requestID, into: &writer)
        var headers = HTTPFields()
        headers[.retryAfter] = retryAfter(failure)
        if failure.reason == .methodNotAllowed { headers[.allow] = failure.details["allow"]?.string }
        if failure.reason == .preconditionFailed { headers[.eTag] = failure.details["etag"]?.string }
        if failure.reason == .operatorTokenInvalid { headers[.wwwAuthenticate] = "Bearer" }
        return .json(writer, status: status(of: failure.reason), headers: headers)
    }

    /// Returns the value of `Retry-After` in seconds, by default 1; nil unless the status means that a retry may
    /// succeed.
    package func retryAfter(_ failure: Failure) -> String? {
        let passing: [HTTPResponse.Status] = [.serviceUnavailable, .gatewayTimeout, .tooManyRequests]
        return passing.contains(status(of: failure.reason)) ? String(failure.retryAfter ?? 1) : nil
    }
}

/// An error table in which each reason of a failure has a numeric code.
///
/// A response body is `{"code":…,"message":…,"errorData":{"reason":…,"requestId":…,…}}`.
package protocol NumberedErrorTable: ErrorTable {
    /// Returns the code and status of a reason.
    static func row(of reason: Failure.Reason) -> (code: Int64, status: HTTPResponse.Status)
}

extension NumberedErrorTable {
    package func status(of reason: Failure.Reason) -> HTTPResponse.Status { Self.row(of: reason).status }

    package func write(_ failure: Failure, requestID: String, into writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", Self.row(of: failure.reason).code)
            writer.member("message", failure.message)
            writer.key("errorData")
            writer.object { writer in
                writer.member("reason", failure.reason.rawValue)
                writer.member("requestId", requestID)
                for member in failure.details.members { writer.member(member.key, member.value) }
            }
        }
    }
}
