// Upstream — the manners towards any provider that is asked over HTTP.
//
// Owns: what a call without a reply means, what a fault says about the provider itself (`HealthSignal`), when nobody
// asks at all (`CircuitBreaker`), how long to wait before a repetition, and the failures that whoever wanted to log in
// is told of all that.
//
// Must not know: a provider. Which one it was, messages and causes learn by a `UpstreamService`; what is asked, and
// what the errors of a provider mean, is for the module of that provider.
