import API
import HTTP
import HTTPTypes
import Vocabulary

/// What an operator is told when something cannot be done: the answer of the administration, in its own words.
struct Refusal: Error {
    let status: HTTPResponse.Status
    let reason: String
    let message: String
    let details: JSONObject
    /// Seconds after which it may be tried again.
    let retryAfter: String?

    init(_ failure: Failure) {
        status = failure.isOwnFault ? .internalServerError : .badRequest
        reason = failure.reason.rawValue
        message = failure.message
        details = failure.details
        retryAfter = failure.retryAfter.map { String($0) }
    }

    init(_ answer: AdministrationCalls.Answer) {
        let body = answer.body?.object
        status = answer.status
        details = body?["errorData"]?.object ?? JSONObject()
        reason = details["reason"]?.string ?? ""
        message = body?["message"]?.string ?? "The service answered with status \(answer.status.code)."
        retryAfter = answer.retryAfter
    }

    /// Whether a second factor has to be shown first.
    var asksForFactor: Bool { reason == Failure.Reason.factorReauthenticationRequired.rawValue }

    /// Whether the session is over.
    var endsSession: Bool { reason == Failure.Reason.operatorTokenInvalid.rawValue }

    /// Whether somebody else has changed the resource meanwhile.
    var isOutdated: Bool { reason == Failure.Reason.preconditionFailed.rawValue }

    /// What is wrong with a document, and where.
    struct Problem {
        /// A JSON pointer.
        let place: String
        let text: String
        /// Of a mapping: which of its entries, counted from 0.
        let entry: Int?
    }

    var problems: [Problem] {
        (details["problems"]?.array ?? []).compactMap(\.object).compactMap { problem in
            guard let text = problem["message"]?.string else { return nil }
            let entry = problem["entry"]?.object?["position"]?.integer.map { Int(clamping: $0) }
            return Problem(place: problem["pointer"]?.string ?? "", text: text, entry: entry)
        }
    }

    /// An alert that says it all.
    var alert: HTML {
        let items = problems.map { problem -> HTML in
            "<li>\("<code>\(problem.place)</code> ", if: !problem.place.isEmpty)\(problem.text)</li>"
        }
        let id = details["requestId"]?.string
        let wait = retryAfter.map { seconds -> HTML in "<p>Try again in \(seconds) s.</p>" }
        return """
            <div class="alert" role="alert"><p>\(message)</p>\("<ul>\(items)</ul>", if: !items.isEmpty)\
            \(wait ?? "")\(id.map { "<p class=\"fine\">Request \($0)</p>" } ?? "" as HTML)</div>
            """
    }
}
