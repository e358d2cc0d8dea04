// Twitter — the provider kind for Twitter (X).
//
// Owns: the provider kind `twitter` and its provider in an application (`TwitterKind`, `TwitterProvider`), OAuth 1.0a
// signatures (RFC 5849), the request that verifies a client's token (`verify_credentials`), the request-token leg of
// reverse auth, and the mapping of Twitter's errors to our reasons. The rules for calls of any provider are in
// `Providers/Calls`.
//
// Must not know: what a login does with the verified user (mappings, the database). There is no branch in it for a
// simulated Twitter.
//
// Twitter accepts a token only in a request signed with the consumer secret of the token's app, so Twitter itself
// refuses a token of another app. Twitter's texts never reach a message; only codes are taken from its errors.
internal import Providers

extension UpstreamService {
    static let twitter = UpstreamService(name: "Twitter", api: "Twitter")
}
