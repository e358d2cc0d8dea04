import Description
import Domain
import Encodings
import Factors
import HTTP
import Logins
import Messaging

/// A login or step-up on the account page that still needs a second factor.
///
/// The page keeps it in a hidden form field.
struct PendingFactor: Sendable {
    /// The name of the form field with the pending login or step-up.
    static let field = "waiting"

    let pending: String
    /// The factors that the user may use, with only those details that may be visible before the second factor is
    /// verified.
    let factors: [Factor]
    private let text: String

    /// Creates a pending login or step-up from the details of a failure; nil if the details contain none.
    ///
    /// - Parameters:
    ///   - details: The members `pending` and `factors`, as in the service's response to a client.
    ///   - kinds: The kinds of factors that are accepted.
    init?(_ details: JSONObject, of kinds: [FactorKind] = FactorKind.allCases) {
        guard let pending = details["pending"]?.string else { return nil }
        let hints = (details["factors"]?.array ?? []).filter { hint in
            kinds.contains { $0.rawValue == hint.object?["kind"]?.string }
        }
        self.pending = pending
        factors = hints.compactMap { $0.object.flatMap { Factor(hint: $0) } }
        text = JSONValue.object(["pending": .string(pending), "factors": .array(hints)]).text
    }

    /// Reads a pending login or step-up from a form; nil if the form contains none.
    ///
    /// - Throws: `malformed_request`.
    init?(_ form: FormFields) throws(Failure) {
        guard let text = try form.value(Self.field) else { return nil }
        guard let details = (try? JSONParser.parse(text, limits: .stored))?.object, let waiting = PendingFactor(details)
        else { throw Failure(.malformedRequest, "This form is incomplete. Reload the page and try again.") }
        self = waiting
    }

    /// The hidden form field with this pending login or step-up.
    var hidden: HTML { HTML.hidden(Self.field, text) }

    /// Returns whether the form contains no second factor, but requests a code or chooses another factor.
    func isToBeAskedAnew(by form: FormFields) throws(Failure) -> Bool {
        let (sent, chosen) = (try form.value("send"), try form.value("choose"))
        return sent != nil || chosen != nil
    }

    /// Returns the factor that the form names.
    ///
    /// If it names none, returns the first factor that is not a recovery code, or else the first factor.
    func chosen(by form: FormFields?) throws(Failure) -> Factor? {
        let (sent, chosen) = (try form?.value("send"), try form?.value("choose"))
        let factor = try form?.value("factor")
        let id = sent ?? chosen ?? factor
        return factors.first { $0.id.description == id } ?? factors.first { $0.kind.standsAlone } ?? factors.first
    }

    /// Returns the second factor that the user has sent: the response of a passkey, or else a code.
    func answer(_ form: FormFields, from source: RequestSource) throws(Failure) -> FactorAnswer {
        FactorAnswer(
            pending: pending,
            factor: try form.value("factor").flatMap { ObjectID($0) },
            response: try FactorResponse(form),
            trustsDevice: false,
            idempotencyKey: nil,
            keyLabel: nil,
            source: source
        )
    }
}

extension Factor {
    fileprivate init?(hint: JSONObject) {
        guard let id = hint["id"]?.string.flatMap({ ObjectID($0) }),
            let kind = hint["kind"]?.string.flatMap({ FactorKind(rawValue: $0) })
        else { return nil }
        self.init(
            id: id,
            kind: kind,
            label: nil,
            hint: hint["hint"]?.string,
            codesLeft: nil,
            created: 0,
            lastUsed: nil
        )
    }
}

extension FactorResponse {
    /// Reads the passkey's response and the code from a form.
    init(_ form: FormFields) throws(Failure) {
        self.init(credential: try form.value("credential"), code: try form.value("code"))
    }
}

extension AccountPages {
    /// Returns the fields of a form that asks for a factor, and whether the fields need the passkey script.
    ///
    /// The method also sends a code if the user's last form (`form`) requests one and has caused no failure.
    func fields(
        for waiting: PendingFactor,
        by form: FormFields?,
        _ asked: AccountRequest,
        problem: Failure?
    ) async throws(Failure) -> (HTML, runsPasskeys: Bool) {
        guard let factor = try waiting.chosen(by: form) else {
            throw Failure(
                .factorNotOffered,
                "None of the second factors of this account can be used here. Contact the operator of the app."
            )
        }
        let wish = try form?.value("send")
        let sends = problem == nil && wish != nil
        var challenge: FactorChallenge?
        if sends || factor.kind == .passkey {
            challenge = try await secondFactor.start(
                waiting.pending,
                factor: factor.id,
                by: nil,
                from: asked.source,
                in: asked.loaded
            ).challenge
        }
        let fields = FactorFields(asked.words).asking(
            for: factor,
            sentTo: challenge?.sentTo,
            publicKey: challenge?.publicKey,
            others: waiting.factors.filter { $0.id != factor.id }
        )
        return ("\(waiting.hidden)\(fields)", challenge?.publicKey != nil)
    }
}

extension PendingFactor {
    /// The schema of the fields of a form that asks for a factor.
    static let fields: KeyValuePairs<String, Schema> = [
        "waiting": .string.described("As the page that asks for a second factor holds it."), "factor": .string,
        "code": .string, "credential": .string, "send": .string, "choose": .string,
    ]
}
