/// The current state of a PostgreSQL client, and its counts since its start.
package struct PostgresStatus: Sendable, Hashable {
    /// The number of open connections for single statements.
    package var pipelinedOpen = 0
    /// The number of open connections for leases, whether they are leased at the moment or not.
    package var exclusiveOpen = 0
    /// The number of leases that have not been returned yet.
    package var leased = 0
    /// The number of statements in the queue for a connection.
    package var queuedStatements = 0
    /// The number of statements that were sent over pipelined connections and have no response yet.
    package var statementsInFlight = 0
    /// The number of callers in the queue for a lease.
    package var queuedLeases = 0
    /// The number of streams of notifications whose session listens at the moment.
    package var listening = 0
    /// The number of attempts to open a connection to some host, since the start of the client.
    package var connectAttempts = 0
    /// The number of attempts to open a connection that failed, since the start of the client.
    package var connectFailures = 0
    /// The number of connections that broke after they had been open, since the start of the client.
    package var connectionsLost = 0
    /// The outcomes of the statements that callers submitted.
    package internal(set) var statements = Outcomes()
    /// The durations of statements, each from the submission by a caller to the outcome.
    package internal(set) var statementTimes = DurationCounts()
    /// The outcomes of requests for an exclusive connection.
    package internal(set) var leases = Outcomes()
    /// The error message of the latest failed attempt to connect.
    ///
    /// It may name host, port, user and database, never the password.
    package var lastConnectFailure: String?

    /// Creates a status in which all counts are 0.
    package init() {}
}

extension PostgresStatus {
    /// Adds the counts of another client to this status.
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
