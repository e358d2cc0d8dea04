package import Domain

/// One login as recorded in the login log, for operators.
package struct LoginRecord: Sendable, Equatable {
    /// The login method.
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
    /// The time of the login, in milliseconds since 1970 UTC.
    package let happened: Int64
    package let method: Method
    /// The provider of the login; nil for a method without a provider, and if the provider does not exist.
    package let provider: ProviderName?
    package let credential: String
    package let outcome: Outcome
    /// Why the login was refused; nil for a successful login.
    package let reason: Failure.Reason?
    /// The cause of the refusal, in the words of the server's log.
    package let cause: String?
    /// The user who logged in; nil if the login was refused or the user has been erased since.
    package let user: ObjectID?
    package let request: String?
    /// The network address of the client; nil if it is unknown or the user has been erased since.
    package let source: String?
    /// The `User-Agent` of the client; nil if there was none or the user has been erased since.
    package let userAgent: String?
    /// The id of the opened session, as in lists of sessions; nil if there is none or the user has been erased since.
    package let session: String?
    /// The duration of the login.
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

/// The key of a counter of logins: the minute and the other properties that the counted logins have in common.
package struct LoginKind: Sendable, Hashable {
    package let application: ApplicationID
    /// The minute of the logins, as the number of minutes since 1970 UTC.
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

/// The number of logins, and how many of them have no row in the log.
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
