// Limiting — how much of what is let through: the policies, and the state machines that hold requests to them.
//
// It owns the vocabulary of limits (`LimitPolicy`: what is counted, for whom, how much), the token buckets that count
// in the memory of an instance, and admission: how much may be under way at once, by what the machine and the database
// are seen to take, and whose turn it is.
//
// It must not know HTTP, SQL, providers, or what the work is that it lets through. What must be exact over all
// instances is counted by the database (Store/Passwords/Attempts); its rules are rows of the same page, docs/limits.md.
