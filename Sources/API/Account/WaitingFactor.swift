import Factors
import HTTP
import Logins
import Notifications
import Vocabulary

/// What waits for a second factor on the account page, in the hands of the page: a login, or a session whose person has
/// to show it anew.
struct WaitingFactor: Sendable {
    /// The field of a form that holds it.
    static let field = "waiting"

    let pending: String
    /// Those that may be shown, as far as somebody may know who has shown none.
    let factors: [Factor]
    private let text: String

    /// What is answered to whom a factor is asked of; nil for what says nothing of it.
    ///
    /// - Parameters:
    ///   - details: `pending` and `factors`, as clients get them.
    ///   - kinds: Those that count.
    init?(_ details: JSONObject, of kinds: [FactorKind] = FactorKind.allCases) {
        guard let pending = details["pending"]?.string else { return nil }
        let hints = (details["factors"]?.array ?? []).filter { hint in
            kinds.contains { $0.rawValue == hint.object?["kind"]?.string }
        }
        self.pending = pending
        factors = hints.compactMap { $0.object.flatMap { Factor(hint: $0) } }
        text = JSONValue.object(["pending": .string(pending), "factors": .array(hints)]).text
    }

    /// Nil for a form that holds none.
    ///
    /// - Throws: `malformed_request`.
    init?(_ form: FormFields) throws(Failure) {
        guard let text = try form.value(Self.field) else { return nil }
        guard let details = (try? JSONParser.parse(text, limits: .stored))?.object, let waiting = WaitingFactor(details)
        else { throw Failure(.malformedRequest, "This form is not whole. Load the page again and repeat it.") }
        self = waiting
    }

    /// What a form holds that asks for it.
    var hidden: HTML { HTML.hidden("waiting", text) }

    /// Whether the person wants a code to be sent, or another factor, in place of showing one.
    func isToBeAskedAnew(by form: FormFields) throws(Failure) -> Bool {
        let (sent, chosen) = (try form.value("send"), try form.value("choose"))
        return sent != nil || chosen != nil
    }

    /// The factor that the form is about; else one that stands alone.
    func chosen(by form: FormFields?) throws(Failure) -> Factor? {
        let (sent, chosen) = (try form?.value("send"), try form?.value("choose"))
        let factor = try form?.value("factor")
        let id = sent ?? chosen ?? factor
        return factors.first { $0.id.description == id } ?? factors.first { $0.kind.standsAlone } ?? factors.first
    }

    /// What the form shows: what an authenticator gave, or else a code.
    func answer(_ form: FormFields, from source: RequestSource) throws(Failure) -> FactorAnswer {
        FactorAnswer(
            pending: pending,
            factor: try form.value("factor").flatMap { ObjectID($0) },
            response: FactorResponse(credential: try form.value("credential"), code: try form.value("code")),
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

extension AccountPages {
    /// The fields of a form that asks for a factor, and whether they need the script of passkeys.
    ///
    /// A code is sent only where the person has asked for it.
    func fields(
        for waiting: WaitingFactor,
        by form: FormFields?,
        _ asked: AccountRequest,
        problem: Failure?
    ) async throws(Failure) -> (HTML, runsPasskeys: Bool) {
        guard let factor = try waiting.chosen(by: form) else {
            throw Failure(
                .factorNotOffered,
                "None of the second factors of this account can be asked for here. Ask those who run the app to help you."
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
        let fields = FactorFields(in: asked.language).asking(
            for: factor,
            sentTo: challenge?.sentTo,
            publicKey: challenge?.publicKey,
            others: waiting.factors.filter { $0.id != factor.id },
            button: asked.language(challenge?.publicKey == nil ? .goOn : .usePasskey)
        )
        return (waiting.hidden + fields, challenge?.publicKey != nil)
    }
}
