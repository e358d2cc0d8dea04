// Verification — the rules on a credential: what it looks like, which one a request means, and when it counts.
//
// It owns the telling apart of token kinds by their shape, the choice of the one credential of a request, the
// decision D2: the two replies about an access token and the application must agree, and the decision D3: what an ID token must be,
// and when the keys that it is verified with are fetched. Everything here is a pure function:
// evidence and time are arguments, a verdict or a failure comes out.
//
// It must not know how the evidence came about (no HTTP, no Graph error codes), nor what a person's profile is used for.
