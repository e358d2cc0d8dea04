// Postgres — the PostgreSQL driver, on libpq.
//
// It owns connections: opening and reopening them, binding, preparing and pipelining statements over a few of them,
// leasing one to a transaction, copying rows, listening for notifications, a bound for every wait, and errors that tell
// the outcome of a statement.
//
// It knows nothing of the domain: no table, no column, and no SQL but that of sessions and transactions (BEGIN, COMMIT,
// ROLLBACK, SET LOCAL, DISCARD ALL, DEALLOCATE, LISTEN, COPY). Values pass through it and never appear in an error, log
// or description.
//
// Layers, each knowing only those below it:
//
//     PostgresClient, PostgresConnection       the interface for callers; Sendable, called from any thread
//     ConnectionPool                           the actor that owns every PGconn; carries out the machines' decisions
//     PipelineStateMachine, DispatchStateMachine, LeaseStateMachine, ListenStateMachine, ReconnectGate,
//     LaneShares, PreparedStatements, NotificationQueue                                                     pure
//     EventLoop                                one thread on epoll; the executor of ConnectionPool
//     Statement, Bind, CopyRows, ResultSet, Row, ResultExcess, PostgresError                                values
