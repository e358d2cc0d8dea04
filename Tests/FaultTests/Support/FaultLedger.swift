import TestSupport
import Testing
import Vocabulary

@testable import ServerTestSupport

/// What became of one login, as the client saw it.
struct LoginAttempt: Sendable {
    enum Outcome: Sendable {
        /// 200: a promise that ``FaultDeployment/checkInvariants(_:)`` holds the service to.
        case signedIn(SignedIn)
        /// A problem of the documented shape, by its reason.
        case refused(String)
        /// The connection ended before a whole reply.
        case broken(String)
    }

    let visitor: Visitor
    let outcome: Outcome
    let start: ContinuousClock.Instant
    let elapsed: Duration

    /// When the client had the answer.
    var end: ContinuousClock.Instant { start + elapsed }

    /// The reason of a refusal, `"broken"` for a broken connection, nil for a success.
    var problem: String? {
        switch outcome {
        case .signedIn: nil
        case .refused(let reason): reason
        case .broken: "broken"
        }
    }

    var signedIn: SignedIn? {
        guard case .signedIn(let signedIn) = outcome else { return nil }
        return signedIn
    }
}

extension [LoginAttempt] {
    /// How many ended in each problem.
    var problems: [String: Int] { compactMap(\.problem).reduce(into: [:]) { $0[$1, default: 0] += 1 } }

    /// What came of them, for docs/reliability.md.
    var figure: String {
        "\(compactMap(\.signedIn).count) of \(count) logins succeeded, none took longer than "
            + (map(\.elapsed).max() ?? .zero).figure
    }
}

/// Sessions that clients hold because a login was answered with 200.
actor Ledger {
    struct Session: Sendable {
        let visitor: Visitor
        let objectID: String
        let token: String
        /// Whether the client was told that its login had made the user.
        let created: Bool
        /// When the client sent the login, and when it had the reply.
        let period: ClosedRange<ContinuousClock.Instant>
    }

    private(set) var all: [Session] = []
    /// The number of Facebook's request up to which sessions were held to what it had been asked.
    private(set) var lastRequest = 0

    func note(_ session: Session) { all.append(session) }

    /// Takes all sessions out.
    func take() -> [Session] {
        defer { all = [] }
        return all
    }

    func noteRequest(_ number: Int) { lastRequest = max(lastRequest, number) }

    /// Forgets the sessions of a user whom the test itself has removed or disabled.
    func forget(objectID: String) { all.removeAll { $0.objectID == objectID } }
}

extension FaultDeployment {
    /// Every reason that a fault may lead to; another one, and so any other status, fails the test (I8).
    static let reasonsOfFaults = [
        "provider_unavailable", "provider_timeout", "provider_bad_reply", "provider_rate_limited", "store_unavailable",
        "overloaded", "credential_invalid", "credential_expired", "credential_revoked", "credential_wrong_kind",
        "user_action_required", "account_disabled", "provider_misconfigured", "permission_missing",
    ]

    /// Tells an end in time from none, however busy the machine is: three times the limit of a login.
    ///
    /// A client of these tests would wait for a minute.
    static let inTime = Duration.seconds(15)

    /// Logs a person in and writes down what came of it.
    ///
    /// - Parameters:
    ///   - visitor: Who.
    ///   - instance: The instance to ask.
    /// - Returns: The attempt.
    /// - Throws: When the reply is none that the API documents; `DeadlinePassed` when there was none.
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

    /// Logs people in all at once.
    ///
    /// - Parameters:
    ///   - visitors: Who; the same person as often as they are there.
    ///   - one: The instance to ask; turn by turn the one and the other unless told.
    /// - Returns: The attempts in the order of the people.
    /// - Throws: As for one.
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

    /// All of these must have got a session.
    func expectAllSignedIn(
        _ attempts: [LoginAttempt],
        _ comment: Comment? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(attempts.problems == [:], comment, sourceLocation: sourceLocation)
    }

    /// All of these must have been refused for one of these reasons, within a time.
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
