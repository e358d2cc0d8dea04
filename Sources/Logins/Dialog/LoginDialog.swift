package import Secrets
package import Store
package import Applications
import Providers
package import Vocabulary

/// Logins through the server: a browser goes to the provider's dialog and comes back with a code.
package struct LoginDialog: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let authenticator: Authenticator
    let writer: SignInWriter
    let codes: LoginCodes
    let challenges: DialogChallenges
    let address: PublicAddress
    let concurrency: ConcurrencyLimit
    let log: LoginLog
    let limits: Limits
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        masterKeys: MasterKeys,
        authenticator: Authenticator,
        writer: SignInWriter,
        codes: LoginCodes,
        challenges: DialogChallenges,
        address: PublicAddress,
        concurrency: ConcurrencyLimit,
        log: LoginLog,
        limits: Limits,
        clock: WallClock,
        random: RandomSource
    ) {
        self.store = store
        self.masterKeys = masterKeys
        self.authenticator = authenticator
        self.writer = writer
        self.codes = codes
        self.challenges = challenges
        self.address = address
        self.concurrency = concurrency
        self.log = log
        self.limits = limits
        self.clock = clock
        self.random = random
    }

    /// Most bytes of an address that leads to the dialog; what is between us and the browser takes no longer ones.
    private static let mostAddressBytes = 7680

    /// Begins a login through the server.
    ///
    /// Whatever can be wrong with the request is found here, before a person is sent to the provider: the mapping is
    /// planned, and where the login shall end is decided.
    ///
    /// - Returns: The address that a browser has to open: the provider's dialog, where the client has sent a challenge;
    ///   else a page of ours that leads there and lets the browser keep something, without which nobody can end the
    ///   login.
    /// - Throws: What is wrong.
    package func openDialog(
        _ request: DialogRequest,
        of provider: ProviderName,
        for loaded: LoadedApplication
    ) async throws(Failure) -> String {
        let application = loaded.application
        let dialogs = try loaded.provider(provider, as: (any DialogOffering).self)
        try dialogs.check(request.wishes)
        let app = try dialogs.app(named: request.appID)
        _ = try loaded.plan(for: provider, clientMapping: request.mapping)
        let base = try dialogBase(for: request, of: provider, application)
        let ticket = DialogTicket(
            plan: DialogPlan(
                provider: provider,
                appID: app.id.text,
                redirectURI: base + "/authorize",
                mapping: try mapping(of: request, for: application),
                end: try DialogEnd(
                    request,
                    returnURLs: dialogs.returnURLs,
                    allowedOrigins: application.settings.allowedOrigins
                )
            ),
            wishes: request.wishes,
            endsAt: clock.seconds + DialogTicket.seconds
        )
        guard ticket.plan.end.belongsToBrowser else {
            return try await dialogAddress(for: ticket, of: provider, in: nil, of: loaded)
        }
        let sealed = Base64URL.encode(ticket.sealed(under: masterKeys, for: application.id))
        let address = "\(base)/start?dialog=\(sealed)"
        guard address.utf8.count <= Self.mostAddressBytes else {
            throw Failure(
                .malformedRequest,
                """
                fieldsMapping and permissions are too long together for the address that leads to the dialog. Map fewer fields or \
                ask for fewer permissions, or let the operator set them; or send a codeChallenge.
                """
            )
        }
        return address
    }

    /// The mapping as far as it counts.
    private func mapping(of request: DialogRequest, for application: Application) throws(Failure) -> JSONValue? {
        guard application.settings.clientMapping, let mapping = request.mapping else { return nil }
        guard mapping.text.utf8.count <= DialogPlan.mostMappingBytes else {
            throw Failure(
                .malformedRequest,
                """
                fieldsMapping has more than \(DialogPlan.mostMappingBytes) bytes, the most for a login through the server. Map fewer \
                fields, or let the operator store the mapping.
                """
            )
        }
        return mapping
    }

    /// What the addresses of ours begin with that a browser calls on its way to the dialog and back: on one host, since
    /// what the browser keeps is for that alone.
    ///
    /// A domain that the client names must be one that leads here by the configuration.
    private func dialogBase(
        for request: DialogRequest,
        of provider: ProviderName,
        _ application: Application
    ) throws(Failure) -> String {
        var base = request.base
        if let domain = request.callbackURLDomain {
            if let name = application.settings.hostNames.first(where: { $0.hasSameBytes(as: domain) }) {
                base = .host(name)
            } else {
                guard case .key = base, address.host?.hasSameBytes(as: domain) == true else {
                    throw Failure(
                        .malformedRequest,
                        """
                        callbackUrlDomain is not a host name of this application's. Leave it out, or ask the operator for the \
                        names in the setting hostNames.
                        """
                    )
                }
            }
        }
        return try address.base(of: base, for: application) + "/users/oauth/\(provider)"
    }
}
