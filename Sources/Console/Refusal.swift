import AdministrationAPI
import Domain
import Encodings
import HTTPTypes
import Pages

/// The refusal of an operator's action: the administration's error response with its message.
struct Refusal: Error {
    let status: HTTPResponse.Status
    let reason: String
    let message: String
    let details: JSONObject
    /// Seconds after which the action may be retried.
    let retryAfter: String?

    init(_ failure: Failure) {
        status = failure.isOwnFault ? .internalServerError : .badRequest
        reason = failure.reason.rawValue
        message = failure.message
        details = failure.details
        retryAfter = failure.retryAfter.map { String($0) }
    }

    init(_ answer: AdministrationCalls.Answer) {
        status = answer.status
        details = answer.object.object("errorData")
        reason = details.string("reason")
        message = answer.object["message"]?.string ?? "The service responded with status \(answer.status.code)."
        retryAfter = answer.retryAfter
    }

    /// Runs a body and rethrows each failure as a refusal.
    static func ofFailures<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let failure as Failure { throw Refusal(failure) }
    }

    /// Whether the operator must show a second factor first.
    var asksForFactor: Bool { reason == Failure.Reason.factorReauthenticationRequired.rawValue }

    /// Whether the session has expired or was revoked.
    var endsSession: Bool { reason == Failure.Reason.operatorTokenInvalid.rawValue }

    /// Whether another operator has changed the resource meanwhile.
    var isOutdated: Bool { reason == Failure.Reason.preconditionFailed.rawValue }

    /// A problem of a document, with its position.
    struct Problem {
        /// A JSON pointer.
        let place: String
        let text: String
        /// The position of the mapping's entry, counted from 0; nil outside mappings.
        let entry: Int?
    }

    var problems: [Problem] {
        details.objects("problems").compactMap { problem in
            guard let text = problem["message"]?.string else { return nil }
            let entry = problem["entry"]?.object?["position"]?.integer.map { Int(clamping: $0) }
            return Problem(place: problem.string("pointer"), text: text, entry: entry)
        }
    }

    /// An alert with the message and all problems.
    var alert: HTML {
        let items = problems.map { problem -> HTML in
            "<li>\("<code>\(problem.place)</code> ", if: !problem.place.isEmpty)\(problem.text)</li>"
        }
        return .alert(
            "\(message)",
            """
            \("<ul>\(items)</ul>", if: !items.isEmpty)\
            \(retryAfter.map { "<p>Try again in \($0) seconds.</p>" as HTML })\
            \(details["requestId"]?.string.map { "<p class=\"fine\">Request ID \($0)</p>" as HTML })
            """
        )
    }
}
