import Providers

/// The kinds of requests to authorization servers, with their metrics; each provider kind has its own.
package struct ServerCalls: Sendable {
    let token: ProviderCall
    let check: ProviderCall
    let profile: ProviderCall
    let revocation: ProviderCall
    let dialog: ProviderCall

    package init(of kind: StaticString) {
        token = ProviderCall(kind, "token")
        check = ProviderCall(kind, "check")
        profile = ProviderCall(kind, "profile")
        revocation = ProviderCall(kind, "revocation")
        dialog = ProviderCall(kind, "dialog")
    }
}
