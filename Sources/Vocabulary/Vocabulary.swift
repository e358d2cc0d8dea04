// Vocabulary — the words of the service: values and pure rules.
//
// It owns the words of the service as types (application, provider, subject, property, session token…), the JSON value
// with the one parser and the one writer of the service, queries and forms, the failure that every use case throws, and
// the rules that need nothing but their arguments (which names are reserved, what a property type can hold, which bytes
// are the same).
//
// It must not know of HTTP, SQL, replies of providers, clocks or randomness: time and random bytes arrive as arguments.
// Everything but the drivers may import it; it imports no module of ours.
