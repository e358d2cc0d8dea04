import Administration
import Applications
import Domain
import HTTP
import HTTPTypes
import Hummingbird
import Limiting
import Logging
import NIOConcurrencyHelpers
import Secrets

/// The authentication of operators for everything under `/admin`.
///
/// A client without a valid token learns nothing, not even which paths exist. The gate identifies the operator. Each
/// route checks the rights, and refuses a request that has not passed the gate.
struct OperatorGate: RouterMiddleware {
    let administration: Administration
    let pseudonyms: Pseudonyms
    let rateLimiter: RateLimiter
    private let attempts = NIOLockedValueBox(FailedAttempts())
    private let known = NIOLockedValueBox(KnownTokens())
    private let concurrency = ConcurrencyLimit<PeerAddress.Network>(limit: Self.maxRequests)

    /// The maximum number of concurrent administrative requests (decision D10).
    ///
    /// The number is small, since these requests have few database connections. One source may have at most three
    /// quarters of these requests.
    static let maxRequests = 16

    init(administration: Administration, pseudonyms: Pseudonyms, rateLimiter: RateLimiter) {
        self.administration = administration
        self.pseudonyms = pseudonyms
        self.rateLimiter = rateLimiter
    }

    func handle(
        _ request: Request,
        context: ManagementContext,
        next: (Request, ManagementContext) async throws -> Response
    ) async throws -> Response {
        // If the path has a route, its pattern is here. Other paths are judged by their first segment.
        let first = request.uri.path.split(separator: "/", maxSplits: 1).first ?? ""
        guard context.endpointPath != nil || first.utf8.elementsEqual("admin".utf8) else {
            return try await next(request, context)
        }
        let caller = try await caller(of: request, context)
        defer { withExtendedLifetime(caller.slot) {} }
        if request.method != .get, request.method != .head { try await administration.requireMasterKey() }
        var context = context
        context.caller = caller
        return try await next(request, context)
    }

    private func caller(of request: Request, _ context: ManagementContext) async throws(Failure) -> Caller {
        try rateLimiter.take(.administration, of: nil, from: context.peer.limitedSource)
        guard let header = request.headers[.authorization] else {
            log(Self.refusal, of: nil, in: context)
            throw Self.refusal
        }
        let token = Self.token(in: header)
        let hash = token.map { Digest.sha256($0.secret.reveal()) } ?? []
        do throws(Failure) {
            try letTry(context.peer, hash: hash)
        } catch {
            log(error, of: header, in: context)
            throw error
        }
        guard let slot = await place(for: context) else {
            throw Failure(
                .overloaded,
                "Too many administrative requests are running. Nothing was changed. Try again shortly.",
                retryAfter: 1
            )
        }
        let isSetUp = request.method == .post && context.endpointPath == AdministrationRoute.settingUp
        guard let token, let found = try await holder(of: token, isSetUp: isSetUp) else {
            known.withLockedValue { $0.remove(hash) }
            let failures = attempts.withLockedValue { $0.recordFailure(of: context.peer.network, at: .now) }
            let refusal = isSetUp ? Failure.setupLinkInvalid : Self.refusal
            log(refusal, of: header, failures: failures, in: context)
            throw refusal
        }
        let opensSession = request.method == .post && context.endpointPath == AdministrationRoute.openingSessions
        guard found.purpose != .link || opensSession || isSetUp else {
            log(Self.refusal, of: header, in: context)
            throw Self.refusal
        }
        known.withLockedValue { $0.insert(hash, at: .now) }
        return Caller(
            calling: found,
            actor: ChangeAuthor(name: found.name.text, source: context.peer.text),
            slot: slot
        )
    }

    /// Returns the operator to whom a token belongs; nil if the token is invalid.
    ///
    /// If `isSetUp` is true, the request is for the route that creates the first owner. That route accepts only the
    /// token of the setup link. No other route accepts that token.
    private func holder(of token: OperatorToken, isSetUp: Bool) async throws(Failure) -> CallingOperator? {
        isSetUp
            ? try await administration.operators.caller(settingUpBy: token)
            : try await administration.operators.authenticate(token)
    }

    /// Returns a slot among the limited number of concurrent requests; nil if all are taken.
    ///
    /// A request of a page of the console waits for a slot for two seconds at most.
    private func place(for context: ManagementContext) async -> Slot? {
        var looks = context.waitsForPlace ? 40 : 0
        while looks > 0 {
            if let slot = Slot(concurrency, for: context.peer.network) { return slot }
            looks -= 1
            do { try await Task.sleep(for: .milliseconds(50)) } catch { return nil }
        }
        return Slot(concurrency, for: context.peer.network)
    }

    /// Refuses a request whose source has to wait, because it has sent invalid operator tokens.
    ///
    /// A request with a recently accepted token is not refused.
    ///
    /// - Throws: `rate_limited` with the time to wait.
    private func letTry(_ peer: PeerAddress, hash: [UInt8]) throws(Failure) {
        let now = ContinuousClock.now
        guard let wait = attempts.withLockedValue({ $0.wait(of: peer.network, at: now) }),
            !known.withLockedValue({ $0.contains(hash, at: now) })
        else { return }
        throw Failure(
            .rateLimited,
            "Too many invalid operator tokens from this address. Try again after the time in Retry-After.",
            retryAfter: wait
        )
    }

    private func log(_ failure: Failure, of header: String?, failures: Int? = nil, in context: ManagementContext) {
        var metadata: Logger.Metadata = ["reason": "\(failure.reason.rawValue)"]
        if let header { metadata["token"] = "\(pseudonyms.pseudonym(of: header, in: nil))" }
        if let failures { metadata["failures"] = "\(failures)" }
        context.logger.notice("operator refused", metadata: metadata)
    }

    /// Returns the token in `Bearer TOKEN` (RFC 6750 §2.1), if the text has the form of an operator token.
    private static func token(in header: String) -> OperatorToken? {
        let scheme = header.utf8.prefix { $0 != 0x20 }
        guard scheme.map({ $0 | 0x20 }).elementsEqual("bearer".utf8) else { return nil }
        return OperatorToken(received: header[scheme.endIndex...].drop { $0 == " " })
    }

    static let refusal = Failure(
        .operatorTokenInvalid,
        """
        This needs an operator token, sent as Authorization: Bearer fedop_…. Create one with `federation set \
        operators/NAME role=viewer`.
        """
    )
}

/// The slot of one request among the limited concurrent requests.
///
/// The slot becomes free when this object is deallocated.
final class Slot: Sendable {
    private let concurrency: ConcurrencyLimit<PeerAddress.Network>
    private let source: PeerAddress.Network

    /// Takes a slot; nil if all are taken, or if the source has as many as it may have.
    init?(_ concurrency: ConcurrencyLimit<PeerAddress.Network>, for source: PeerAddress.Network) {
        guard concurrency.enter(source) else { return nil }
        self.concurrency = concurrency
        self.source = source
    }

    deinit { concurrency.leave(source) }
}
