// TestSupport — what tests need around the product.
//
// It owns real processes, real PostgreSQL clusters and databases, a plain HTTP client, a TCP proxy that misbehaves on
// demand, an authenticator for passkeys, free ports and waiting for a condition with a deadline.
//
// It must not know the product from inside: it imports none of its modules and speaks to it as anybody else does, by
// command line, environment, HTTP and SQL. It holds no test doubles; what it starts is the real thing.
//
// Everything listens on and connects to 127.0.0.1 only. Whatever is started here ends with the test process, even when
// that is killed.
