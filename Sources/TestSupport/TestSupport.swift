// TestSupport — the environment of the tests.
//
// This module owns real processes, real PostgreSQL clusters and databases, a plain HTTP client, a TCP proxy that
// disturbs connections on demand, an authenticator for passkeys, free ports, and waiting for a condition with a
// deadline.
//
// It must not know the inside of the product. It imports none of the product's modules. It uses the product as clients
// and operators do: by command line, environment, HTTP and SQL. It contains no test doubles: what it starts is real.
//
// All sockets listen on 127.0.0.1 and connect to 127.0.0.1 only. All processes end with the test process, even if that
// is killed.
