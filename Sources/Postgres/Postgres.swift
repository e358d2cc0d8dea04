// Postgres — the driver of PostgreSQL, on libpq.
//
// It owns connections and what can happen to them: how they are opened and found again, how statements are bound,
// prepared and pipelined over a few of them, how a transaction gets one to itself, how rows are copied, how one listens
// for notifications, what every wait is bounded by, and which error says what about the outcome of a statement.
//
// It knows no word of the domain: no table, no column, no SQL but that of sessions and transactions (BEGIN, COMMIT,
// ROLLBACK, SET LOCAL, DISCARD ALL, DEALLOCATE, LISTEN, COPY). Values pass through it and stay in no error, log or
// description.
//
// Layers, each knowing only those below it:
//
//     PostgresClient, PostgresConnection       what a caller holds; Sendable, called from any thread
//     ConnectionPool                           the actor that owns every PGconn; carries out what the machines decide
//     PipelineStateMachine, DispatchStateMachine, LeaseStateMachine, ListenStateMachine, ReconnectGate,
//     LaneShares, PreparedStatements, NotificationQueue                                                     pure
//     EventLoop                                one thread on epoll; the executor of ConnectionPool
//     Statement, Bind, CopyRows, ResultSet, ResultExcess, PostgresError                                     values
