package import HTTPTypes
package import Hummingbird
package import Vocabulary

/// How failures are told to those who call: status and body of each.
package protocol ErrorTable: Sendable {
    func status(of reason: Failure.Reason) -> HTTPResponse.Status

    /// Writes the body of the reply to a failure.
    func write(_ failure: Failure, requestID: String, into writer: inout JSONWriter)
}

extension ErrorTable {
    /// The response to a failure, with the headers that HTTP has for its reason.
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

    /// The seconds of `Retry-After`: who is told to come back is told when, whatever the failure knew; nil for all
    /// others.
    package func retryAfter(_ failure: Failure) -> String? {
        let passing: [HTTPResponse.Status] = [.serviceUnavailable, .gatewayTimeout, .tooManyRequests]
        return passing.contains(status(of: failure.reason)) ? String(failure.retryAfter ?? 1) : nil
    }
}
