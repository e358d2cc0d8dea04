import Curl
import Domain
import Encodings

/// What the service needs of an issuer's discovery document (docs/protocols/openid.md §1).
struct Discovery: Sendable {
    let authorizationEndpoint: HTTPURL?
    let tokenEndpoint: HTTPURL?
    let keysURL: HTTPURL
    /// Whether the issuer names itself in the redirect of a dialog (RFC 9207 §2).
    let namesIssuer: Bool

    /// The path of the discovery document below the issuer.
    static let path = "/.well-known/openid-configuration"

    /// Reads a discovery document.
    ///
    /// - Parameters:
    ///   - body: The bytes of the document.
    ///   - issuer: The issuer that was asked. The document must name the same one, byte for byte: otherwise, it
    ///     could make tokens of another issuer count.
    /// - Throws: `DiscoveryProblem`.
    init(_ body: [UInt8], of issuer: String) throws(DiscoveryProblem) {
        guard let object = (try? JSONParser.parse(body, limits: .profile))?.object else {
            throw DiscoveryProblem("is no JSON object")
        }
        guard let named = object["issuer"]?.string, named.hasSameBytes(as: issuer) else {
            throw DiscoveryProblem("names another issuer than the one in the settings")
        }
        func url(_ name: String) throws(DiscoveryProblem) -> HTTPURL? {
            guard let text = object.present(name) else { return nil }
            guard let url = text.string.flatMap({ try? HTTPURL($0) }) else {
                throw DiscoveryProblem("has a member \(name) that is no https URL")
            }
            return url
        }
        guard let keys = try url("jwks_uri") else { throw DiscoveryProblem("has no jwks_uri") }
        keysURL = keys
        authorizationEndpoint = try url("authorization_endpoint")
        tokenEndpoint = try url("token_endpoint")
        namesIssuer = object["authorization_response_iss_parameter_supported"]?.bool ?? false
    }
}

/// Why a discovery document cannot be used; the text follows "The discovery document".
struct DiscoveryProblem: Error {
    let text: String

    init(_ text: String) { self.text = text }
}

/// Keeps an issuer's discovery document, and decides when it must be fetched again.
///
/// A pure state machine: times are arguments.
struct DiscoveryCache: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Decision: Sendable {
        case document(Discovery)
        /// The caller uses the document, and meanwhile fetches it anew.
        case documentAndFetch(Discovery)
        case fetch
        case wait
        /// The last fetch failed, and it is too early for another one.
        case unavailable(Failure)
    }

    /// The bounds of the time for which a document counts as fresh, whatever its `Cache-Control` says.
    static let freshness = (least: Duration.seconds(300), most: Duration.seconds(86_400))
    /// The age from which a document that cannot be fetched anew no longer counts.
    static let uselessAge: Duration = .seconds(7 * 86_400)
    /// The minimum time from a failed fetch to the next one, with and without a document.
    static let pause = (with: Duration.seconds(60), without: Duration.seconds(5))

    private var document: (value: Discovery, asked: Instant, freshUntil: Instant)?
    private var asked: Instant?
    private var lastFailure: (failure: Failure, time: Instant)?

    var isFetching: Bool { asked != nil }

    /// Returns the document, or what the caller must do to get it.
    ///
    /// After `fetch` and `documentAndFetch`, the caller must fetch, and report the result.
    mutating func decide(at now: Instant) -> Decision {
        if let document, now - document.asked < Self.uselessAge {
            if now < document.freshUntil || isFetching { return .document(document.value) }
            if let lastFailure, now - lastFailure.time < Self.pause.with { return .document(document.value) }
            asked = now
            return .documentAndFetch(document.value)
        }
        if isFetching { return .wait }
        if let lastFailure, now - lastFailure.time < Self.pause.without { return .unavailable(lastFailure.failure) }
        asked = now
        return .fetch
    }

    /// Replaces the document.
    ///
    /// - Parameters:
    ///   - document: The document that a fetch has brought.
    ///   - seconds: The `max-age` of the response's `Cache-Control`; nil without one.
    ///   - now: The time.
    mutating func fetched(_ document: Discovery, maxAge seconds: Int64?, at now: Instant) {
        let began = asked ?? now
        let age = seconds.map { Duration.seconds($0) } ?? Self.freshness.least
        let fresh = min(max(age, Self.freshness.least), Self.freshness.most)
        self.document = (document, began, began + fresh)
        lastFailure = nil
        asked = nil
    }

    /// Records that a fetch brought no document that can be used.
    ///
    /// A former document goes on to count.
    mutating func failed(_ failure: Failure, at now: Instant) {
        lastFailure = (failure, now)
        asked = nil
    }
}
