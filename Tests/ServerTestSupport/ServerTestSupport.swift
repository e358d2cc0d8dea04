// ServerTestSupport — common code of the tests that drive the built service from outside.
//
// It owns a suite's deployment, applications as their operators write them, simulated Facebook users, logins, and the
// checks of error responses. ServerTests and FaultTests use it; code that only one of them needs is in that one.
