// Twitter — everything that is Twitter's (X).
//
// Owns: the kind of provider `twitter` and what an application's own is (`TwitterKind`, `TwitterProvider`), OAuth 1.0a
// signatures (RFC 5849), the question whose token it is that a client brought (`verify_credentials`), the request-token
// leg of reverse auth, and the meaning of every error that Twitter gives in our own reasons. The manners towards any
// provider are Upstream's.
//
// Must not know: what is done with a person who was verified (mappings, the database). There is no branch in it for a
// simulated Twitter.
//
// Twitter vouches for a token only towards the app whose consumer secret has signed the question; so a token of another
// app's is refused by Twitter itself. Nothing that Twitter writes reaches a message; codes are all that is taken out of
// its errors.
internal import Upstream

extension UpstreamService {
    static let twitter = UpstreamService(name: "Twitter", api: "Twitter")
}
