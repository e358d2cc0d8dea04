// Limiting — rate limits and admission: the policies, and the state machines that apply them to requests.
//
// This module owns the terms of rate limits (`LimitPolicy`: operation, subject, rate), the token buckets in the memory
// of an instance, and the admission of requests. The admission adapts the number of concurrent requests to the observed
// capacity of machine and database, and determines the order in which requests are served.
//
// It must not know HTTP, SQL, providers, or the admitted work. The database counts the limits that must be exact over
// all instances (Store/Passwords/Attempts). docs/limits.md lists the rules of both kinds.
