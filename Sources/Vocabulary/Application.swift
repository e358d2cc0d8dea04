/// An application as its operator configured it, at one revision.
package struct Application: Sendable {
    package let id: ApplicationID
    /// A name for people.
    package let name: String
    /// The PostgreSQL schema that holds its users.
    package let schema: String
    /// Where that schema is; nil for the database that holds the configuration.
    package let database: DatabaseVariable?
    /// Grows with every change of anything below.
    package let revision: Int64
    package var settings: ApplicationSettings
    /// Declared properties and the built-in ones, in the order of their columns.
    package let properties: [Property]

    package init(
        id: ApplicationID,
        name: String,
        schema: String,
        database: DatabaseVariable? = nil,
        revision: Int64,
        settings: ApplicationSettings,
        properties: [Property]
    ) {
        self.id = id
        self.name = name
        self.schema = schema
        self.database = database
        self.revision = revision
        self.settings = settings
        self.properties = properties
    }
}

/// What an operator decides about an application as a whole.
package struct ApplicationSettings: Sendable, Equatable {
    /// Whether clients may send a mapping of their own.
    package var clientMapping = true
    /// Whether a client's mapping may name properties that nobody declared; they are kept in one jsonb column.
    package var dynamicProperties = false
    /// What becomes of undeclared properties that clients write themselves; nil for `store` with `dynamicProperties`,
    /// `refuse` without.
    package var undeclaredProperties: UndeclaredProperties?
    /// What a moment is that a client writes without its offset from UTC.
    package var offsetlessTimes = OffsetlessTimes.refuse
    /// Seconds without use after which a session ends (decision D7).
    package var sessionIdleSeconds: Int64 = 14 * 86_400
    /// Seconds after its creation at which a session ends in any case.
    package var sessionAbsoluteSeconds: Int64 = 30 * 86_400
    /// Whether a user may have several sessions at once.
    package var multipleLogins = true
    /// How many sessions a user may have at once, 1 to 1000; nil for as many as any user may have.
    package var mostSessions: Int64?
    /// What becomes of the sessions of a user who has as many as are allowed, when there is another login.
    package var excessLogins = ExcessLogins.endOldest
    /// Days for which an identity that was a disabled user's stays banned when it is erased, 0 to 3650.
    package var banDays: Int64 = 730
    /// What a password is held to when somebody chooses one.
    package var passwords = PasswordRules()
    /// What a session must have shown before the password or the e-mail address changes by it.
    package var reauthentication = ReauthenticationRule.recent
    /// When wrong passwords lock a login.
    package var lock = LoginLock()
    /// Whether somebody who asks for a mail that restores the password of an unknown login is told that it is unknown.
    package var tellUnknownLogins = false
    /// What is a server's, and open to every API key here.
    package var clientKeys: [ClientKeyRight] = []
    /// The property by whose value people log in with a password: `email`, or a declared STRING or TEXT.
    package var identityProperty = PropertyName.email
    /// The signed tokens by which other services check users.
    package var tokens = TokenSettings()
    /// Origins of browser pages that may call the public API; empty means every origin, which is safe because no cookie
    /// or other ambient authority exists.
    package var allowedOrigins: [String] = []
    /// Names of hosts whose path `/api` is this application's (docs/api.md#base-url), in lower case.
    package var hostNames: [String] = []
    /// Whether clients may make new users.
    package var newUsers = NewUsers.open
    /// Accounts that people make for themselves, without a provider.
    package var registration = Registration()
    /// The roles that users can be given, besides those that the system gives.
    package var roles: [String] = []
    /// Who may do what in the users collection.
    package var collection = CollectionRights()
    /// What people show beside what they log in by.
    package var secondFactor = SecondFactorPolicy()
    /// How its pages look.
    package var pages = PageSettings()

    package init() {}
}

/// Whether users get signed tokens for the application's other services, and what is in them.
package struct TokenSettings: Sendable, Equatable {
    package var enabled = false
    /// How long a token is good, 60 to 3600 seconds: nothing can end it earlier.
    package var seconds: Int64 = 300
    /// Whom it is for (`aud`); nil for the application's id.
    package var audience: String?

    package init() {}
}
