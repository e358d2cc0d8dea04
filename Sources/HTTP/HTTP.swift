// HTTP — bytes to requests and replies to bytes, whatever is asked for.
//
// It owns the connections (`Connection`), where a request comes from, bodies as JSON or forms, replies and their
// headers, the pages that a person sees, CORS, the log of refusals, and what a protocol of clients has to be
// (`ClientProtocol`) to stand beside others on one listener.
//
// It must not know a path or a header of a protocol, a code of an error table, or a use case: it sees Vocabulary only.
