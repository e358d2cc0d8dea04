/// Limits of whole use cases (decision D9).
package struct Limits: Sendable {
    /// A login in all, from the parsed request to the written session.
    package var login: Duration
    /// What of it is kept back for the database after a provider has answered.
    package var storeReserve: Duration
    /// Logins at once; one more is refused (decision D10).
    package var concurrentLogins: Int

    package init(
        login: Duration = .seconds(5),
        storeReserve: Duration = .seconds(1),
        concurrentLogins: Int = 2048
    ) {
        self.login = login
        self.storeReserve = storeReserve
        self.concurrentLogins = concurrentLogins
    }
}
