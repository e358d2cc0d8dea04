// Limiting — rate limits and admission: the policies, and the state machines that apply them to requests.
//
// It owns the vocabulary of limits (`LimitPolicy`: operation, subject, rate), the token buckets in the memory of an
// instance, and admission: the number of concurrent requests, adapted to the observed capacity of machine and database,
// and the order in which requests are served.
//
// It must not know HTTP, SQL, providers, or the admitted work. Limits that must be exact over all instances are counted
// by the database (Store/Passwords/Attempts); their rules are rows of the same page, docs/limits.md.
