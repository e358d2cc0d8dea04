import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

/// The outcome of one login, as the client saw it.
struct LoginAttempt: Sendable {
    enum Outcome: Sendable {
        /// A response of 200, whose promise ``FaultDeployment/checkInvariants(_:)`` checks.
        case signedIn(LoginResult)
        /// An error of the documented shape, by its reason.
        case refused(String)
        /// A connection that ended before the end of the response.
        case broken(String)
    }

    let visitor: Visitor
    let outcome: Outcome
    let start: ContinuousClock.Instant
    let elapsed: Duration

    /// The time when the client had the response.
    var end: ContinuousClock.Instant { start + elapsed }

    /// The reason of a refusal, `"broken"` for a broken connection, `nil` for a success.
    var problem: String? {
        switch outcome {
        case .signedIn: nil
        case .refused(let reason): reason
        case .broken: "broken"
        }
    }

    var signedIn: LoginResult? {
        guard case .signedIn(let signedIn) = outcome else { return nil }
        return signedIn
    }
}

extension [LoginAttempt] {
    /// The number of failed attempts per reason.
    var problems: [String: Int] { compactMap(\.problem).reduce(into: [:]) { $0[$1, default: 0] += 1 } }

    /// A summary for docs/reliability.md.
    var figure: String {
        "\(compactMap(\.signedIn).count) of \(count) logins succeeded, none took longer than "
            + (map(\.elapsed).max() ?? .zero).figure
    }
}

/// The sessions that clients received with a response of 200.
actor Ledger {
    struct Session: Sendable {
        let visitor: Visitor
        let objectID: String
        let token: String
        /// Whether the response said that the login created the user.
        let created: Bool
        /// The time from the request to the response.
        let period: ClosedRange<ContinuousClock.Instant>
    }

    private(set) var all: [Session] = []
    /// The number of the last request to Facebook that was considered when sessions were checked.
    private(set) var lastRequest = 0

    func note(_ session: Session) { all.append(session) }

    /// Removes and returns all sessions.
    func take() -> [Session] {
        defer { all = [] }
        return all
    }

    func noteRequest(_ number: Int) { lastRequest = max(lastRequest, number) }

    /// Removes the sessions of a user whom the test itself deleted or disabled.
    func forget(objectID: String) { all.removeAll { $0.objectID == objectID } }
}

extension FaultDeployment {
    /// The reasons that a fault may cause; any other reason, and so any other status, fails the test (I8).
    static let reasonsOfFaults = [
        "provider_unavailable", "provider_timeout", "provider_bad_reply", "provider_rate_limited", "store_unavailable",
        "overloaded", "credential_invalid", "credential_expired", "credential_revoked", "credential_wrong_kind",
        "user_action_required", "account_disabled", "provider_misconfigured", "permission_missing",
    ]

    /// The bound for an end in time, however busy the machine is: three times the limit of a login.
    ///
    /// A client of these tests would wait for a minute.
    static let inTime = Duration.seconds(15)

    /// Logs a user in and records the outcome.
    ///
    /// - Parameters:
    ///   - visitor: The user.
    ///   - instance: The instance.
    /// - Returns: The attempt.
    /// - Throws: An error for a response that the API does not document; `DeadlinePassed` without a response.
    func logIn(_ visitor: Visitor, at instance: Deployment) async throws -> LoginAttempt {
        let start = ContinuousClock.now
        func attempt(_ outcome: LoginAttempt.Outcome) -> LoginAttempt {
            LoginAttempt(visitor: visitor, outcome: outcome, start: start, elapsed: .now - start)
        }
        let reply: HTTPReply
        do {
            reply = try await instance.login(visitor)
        } catch let failure as HTTPFailure {
            return attempt(.broken("\(failure)"))
        }
        guard reply.status == 200 else {
            let data = try expectProblem(reply, oneOf: Self.reasonsOfFaults)
            return attempt(.refused(data["reason"]?.string ?? ""))
        }
        let signedIn = try instance.signedIn(reply)
        let session = Ledger.Session(
            visitor: visitor,
            objectID: signedIn.objectID,
            token: signedIn.token,
            created: signedIn.created,
            period: start...ContinuousClock.now
        )
        await ledger.note(session)
        return attempt(.signedIn(signedIn))
    }

    /// Logs users in concurrently.
    ///
    /// - Parameters:
    ///   - visitors: The users; a user logs in as often as listed.
    ///   - one: The instance; by default both alternate.
    /// - Returns: The attempts in the order of the users.
    /// - Throws: The errors of a single login.
    func logIn(_ visitors: [Visitor], at one: Deployment? = nil) async throws -> [LoginAttempt] {
        try await withThrowingTaskGroup(of: (Int, LoginAttempt).self) { group in
            for (index, visitor) in visitors.enumerated() {
                let instance = one ?? instances[index % instances.count]
                group.addTask { (index, try await logIn(visitor, at: instance)) }
            }
            var attempts: [(Int, LoginAttempt)] = []
            for try await attempt in group { attempts.append(attempt) }
            return attempts.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// Expects that all attempts got a session.
    func expectAllLoggedIn(
        _ attempts: [LoginAttempt],
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(attempts.problems == [:], comment, sourceLocation: sourceLocation)
    }

    /// Expects that all attempts were refused for one of these reasons, within a time.
    func expectAllRefused(
        _ attempts: [LoginAttempt],
        _ reasons: Set<String>,
        within limit: Duration = inTime,
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let reached = attempts.problems.merging(["success": attempts.compactMap(\.signedIn).count]) { $1 }
        let others = reached.filter { !reasons.contains($0.key) && $0.value > 0 }
        #expect(others == [:], comment, sourceLocation: sourceLocation)
        #expect(attempts.map(\.elapsed).max() ?? .zero < limit, comment, sourceLocation: sourceLocation)
    }
}
