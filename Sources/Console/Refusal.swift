import AdministrationAPI
import Domain
import Encodings
import HTTPTypes
import Pages

/// The refusal of an operator's action: the administration's error response with its message.
struct Refusal: Error {
    let status: HTTPResponse.Status
    let reason: String
    private(set) var message: String
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

    /// Returns the refusal with another message.
    func saying(_ message: String) -> Refusal {
        var refusal = self
        refusal.message = message
        return refusal
    }

    /// Runs a body and rethrows each failure as a refusal.
    static func ofFailures<Result>(_ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let failure as Failure { throw Refusal(failure) }
    }

    /// Whether the action was refused because the operator must first enter a second factor.
    var asksForFactor: Bool { reason == Failure.Reason.factorReauthenticationRequired.rawValue }

    /// Whether the action was refused because the session has expired or was revoked.
    var endsSession: Bool { reason == Failure.Reason.operatorTokenInvalid.rawValue }

    /// Whether the action was refused because another operator has changed the resource meanwhile.
    var isOutdated: Bool { reason == Failure.Reason.preconditionFailed.rawValue }

    /// A problem in a JSON document that the operator sent, with its position.
    struct Problem {
        /// The position of the problem, as a JSON pointer.
        let place: String
        let text: String
        /// The index of the mapping's entry that has the problem, counted from 0; nil if the problem is not in a
        /// mapping.
        let entry: Int?

        /// The text after its position.
        var html: HTML { "\("<code>\(place)</code> ", if: !place.isEmpty)\(text)" }

        /// Returns whether the problem is at a place, or inside it.
        func isAt(_ pointer: String) -> Bool { place == pointer || place.hasPrefix(pointer + "/") }
    }

    var problems: [Problem] {
        details.objects("problems").compactMap { problem in
            guard let text = problem["message"]?.string else { return nil }
            let entry = problem["entry"]?.object?["position"]?.integer.map { Int(clamping: $0) }
            return Problem(place: problem.string("pointer"), text: text, entry: entry)
        }
    }

    /// An alert with the message, or with all problems that the message sums up.
    var alert: HTML { alert(\.html) }

    /// Returns the alert, with `line` for the text of each problem.
    func alert(_ line: (Problem) -> HTML) -> HTML {
        let lines = problems.map(line)
        return .alert(
            lines.isEmpty ? "\(message)" : lines.count == 1 ? lines[0] : "There are \(lines.count) problems:",
            """
            \("<ul>\(lines.map { "<li>\($0)</li>" as HTML })</ul>", if: lines.count > 1)\
            \(retryAfter.map { "<p>Try again in \($0) seconds.</p>" as HTML })\
            \(details["requestId"]?.string.map { "<p class=\"fine\">Request ID \($0)</p>" as HTML })
            """
        )
    }
}
