// ServerTestSupport — what the tests that drive the built service from outside have in common.
//
// It owns the deployment that a suite runs against, applications as their operators write them down, Facebook as the
// simulator plays it, logins, and what every problem must look like. ServerTests and FaultTests use it; what only one
// of them needs is there.
