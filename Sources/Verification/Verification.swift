// Verification — the rules on what Facebook vouches for: when a credential counts, and when a call is Facebook's.
//
// It owns the telling apart of token kinds by their shape, the choice of the one credential of a request, decision D2 (the two
// replies about an access token and the application must agree), decision D3 (what an ID token must be, its nonce, and when
// the keys that it is verified with are fetched); and the reading of what Facebook sends us: signed requests, webhooks
// with their handshake and signature, and the dialog's answer. Everything here is a pure function: evidence, keys, time and
// random bytes are arguments, a verdict, a value or a failure comes out.
//
// It must not know how the evidence came about (no HTTP, no Graph error codes), what is done about it, nor what a person's
// profile is used for.
