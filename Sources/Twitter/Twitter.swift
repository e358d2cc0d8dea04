// Twitter — the provider kind for Twitter (X).
//
// Owns: the provider kind `twitter` and its provider in an application (`TwitterKind`, `TwitterProvider`), OAuth 1.0a
// signatures (RFC 5849), the request that verifies a client's token (`verify_credentials`), the request for the
// parameters of reverse auth, and the mapping of Twitter's errors to our reasons. The rules for calls of any provider
// are in `Providers/Calls`.
//
// Must not know: what a login does with the verified user (mappings, the database). It has no branch for a simulated
// Twitter.
//
// A token is accepted only in a request that is signed with the consumer secret of the token's app. So Twitter itself
// refuses a token of another app. Twitter's texts never reach a message. Of its errors, only codes are copied.
internal import Providers

extension UpstreamService {
    static let twitter = UpstreamService(name: "Twitter", api: "Twitter")
}
