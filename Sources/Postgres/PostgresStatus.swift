/// What a client is doing now and has done so far.
package struct PostgresStatus: Sendable, Hashable {
    /// Connections open for single statements.
    package var pipelinedOpen = 0
    /// Connections open for leases.
    package var exclusiveOpen = 0
    /// Leases given and not yet returned.
    package var leased = 0
    /// Statements that wait for a connection.
    package var queuedStatements = 0
    /// Statements that were sent over pipelined connections and not yet answered.
    package var statementsInFlight = 0
    /// Callers that wait for a lease.
    package var queuedLeases = 0
    /// Streams of notifications whose session listens at the moment.
    package var listening = 0
    /// Attempts to open a connection to some host, since the start.
    package var connectAttempts = 0
    /// Attempts that failed, since the start.
    package var connectFailures = 0
    /// Connections that broke after they had been open, since the start.
    package var connectionsLost = 0
    /// How statements of callers ended.
    package internal(set) var statements = Outcomes()
    /// How long callers waited for the end of a statement that was sent or waited to be.
    package internal(set) var statementTimes = DurationCounts()
    /// How questions for an exclusive connection ended.
    package internal(set) var leases = Outcomes()
    /// Why the latest attempt failed, in libpq's words: names host, port, user and database, never the password.
    package var lastConnectFailure: String?

    /// Of no client.
    package init() {}
}

extension PostgresStatus {
    /// Adds what another client does and has done.
    package mutating func add(_ other: PostgresStatus) {
        pipelinedOpen += other.pipelinedOpen
        exclusiveOpen += other.exclusiveOpen
        leased += other.leased
        queuedStatements += other.queuedStatements
        statementsInFlight += other.statementsInFlight
        queuedLeases += other.queuedLeases
        listening += other.listening
        connectAttempts += other.connectAttempts
        connectFailures += other.connectFailures
        connectionsLost += other.connectionsLost
        statements.add(other.statements)
        statementTimes.add(other.statementTimes)
        leases.add(other.leases)
        lastConnectFailure = other.lastConnectFailure ?? lastConnectFailure
    }
}
