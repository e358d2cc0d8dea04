// HTTP — from bytes to requests and from responses to bytes, for every protocol.
//
// It owns the connections (`Connection`), the source of a request, bodies as JSON or forms, responses and their
// headers, and the log of refusals.
//
// It must not know a path or a header of a protocol, a code of an error table, or a use case: it sees the domain and
// its limits only.
