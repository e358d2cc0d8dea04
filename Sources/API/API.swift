// API — the REST interfaces of both listeners: bytes in, bytes out.
//
// It owns the connections (`Connection`), routes, the JSON wire of docs/api.md, the few pages that a person sees, CORS,
// the gate in front of the administration, the headers of every reply, and the table that turns a failure into a status
// and a code. A request is parsed once, at the edge, into a typed value; handlers below the edge never see HTTP.
//
// It must not know of SQL, Graph or mappings: it sees Federation and Identity only.
