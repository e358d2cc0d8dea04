package import Vocabulary

/// A login as the log of logins has it, for operators: what its line in the log says, with what it came, and which
/// session it opened.
package struct LoginRecord: Sendable, Equatable {
    /// What somebody logged in by.
    package enum Method: String, Sendable, CaseIterable {
        case provider
        case password
        case guest
        case server
        case passkey
    }

    package enum Outcome: String, Sendable, CaseIterable {
        case created
        case updated
        case refused
    }

    package let application: ApplicationID
    /// Milliseconds since 1970 UTC.
    package let happened: Int64
    package let method: Method
    /// Nil where there is no such provider, too.
    package let provider: ProviderName?
    package let credential: String
    package let outcome: Outcome
    /// Why it was refused.
    package let reason: Failure.Reason?
    /// What was behind that, in the words of the log.
    package let cause: String?
    /// Nil where it was refused, and where the user was erased since.
    package let user: ObjectID?
    package let request: String?
    /// Nil where the user was erased since, too.
    package let source: String?
    /// Nil where the user was erased since, too.
    package let userAgent: String?
    /// The id of the session that was opened, as lists of sessions have it; nil where the user was erased since, too.
    package let session: String?
    /// How long it took.
    package let milliseconds: Int64

    package init(
        application: ApplicationID,
        happened: Int64,
        method: Method,
        provider: ProviderName?,
        credential: String,
        outcome: Outcome,
        reason: Failure.Reason?,
        cause: String?,
        user: ObjectID?,
        request: String?,
        source: String?,
        userAgent: String?,
        session: String?,
        milliseconds: Int64
    ) {
        self.application = application
        self.happened = happened
        self.method = method
        self.provider = provider
        self.credential = credential
        self.outcome = outcome
        self.reason = reason
        self.cause = cause
        self.user = user
        self.request = request
        self.source = source
        self.userAgent = userAgent
        self.session = session
        self.milliseconds = milliseconds
    }
}

/// What logins are counted by, minute by minute.
package struct LoginKind: Sendable, Hashable {
    package let application: ApplicationID
    /// Since 1970 UTC.
    package let minute: Int64
    package let method: LoginRecord.Method
    package let provider: ProviderName?
    package let outcome: LoginRecord.Outcome
    package let reason: Failure.Reason?

    package init(_ record: LoginRecord) {
        application = record.application
        minute = record.happened / 60_000
        method = record.method
        provider = record.provider
        outcome = record.outcome
        reason = record.reason
    }
}

/// How many logins there were, and of how many of them the log has no row.
package struct LoginCount: Sendable, Equatable {
    package var logins: Int64
    package var unlisted: Int64

    package init(logins: Int64 = 0, unlisted: Int64 = 0) {
        self.logins = logins
        self.unlisted = unlisted
    }

    package static func + (left: LoginCount, right: LoginCount) -> LoginCount {
        LoginCount(logins: left.logins + right.logins, unlisted: left.unlisted + right.unlisted)
    }
}
