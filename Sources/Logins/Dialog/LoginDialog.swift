package import Applications
package import Domain
import Encodings
package import Limiting
import Providers
package import Secrets
package import Store

/// Logs users in by a provider's dialog.
///
/// The browser goes to the provider's dialog and returns to this service with an authorization code.
package struct LoginDialog: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let authenticator: Authenticator
    let writer: LoginWriter
    let codes: LoginCodes
    let factors: DialogFactors
    let challenges: DialogChallenges
    let admission: Admission
    let log: LoginLog
    let limits: Limits
    let clock: WallClock
    let random: RandomSource

    package init(
        store: Store,
        masterKeys: MasterKeys,
        authenticator: Authenticator,
        writer: LoginWriter,
        codes: LoginCodes,
        factors: DialogFactors,
        challenges: DialogChallenges,
        admission: Admission,
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
        self.factors = factors
        self.challenges = challenges
        self.admission = admission
        self.log = log
        self.limits = limits
        self.clock = clock
        self.random = random
    }

    /// The maximum length, in bytes, of an address that leads to the dialog.
    ///
    /// Proxies may refuse longer addresses.
    private static let maxAddressBytes = 7680

    /// Begins a login by a provider's dialog.
    ///
    /// The method compiles the mapping and decides how the login ends. So it finds every error of the request before
    /// the user goes to the provider.
    ///
    /// - Parameters:
    ///   - request: The client's request.
    ///   - provider: The provider of the dialog.
    ///   - loaded: The application.
    ///   - addresses: The addresses of this service for the dialog.
    /// - Returns: The address for the browser. If the client sent a challenge, it is the address of the provider's
    ///   dialog. Otherwise, it is the address of a page of this service, which sets a cookie and leads to the dialog.
    ///   Only a browser with this cookie can end the login.
    /// - Throws: The error of the request.
    package func openDialog(
        _ request: DialogRequest,
        of provider: ProviderName,
        for loaded: LoadedApplication,
        at addresses: () throws(Failure) -> DialogAddresses
    ) async throws(Failure) -> String {
        let application = loaded.application
        let dialogs = try loaded.provider(provider, as: (any DialogOffering).self)
        try dialogs.check(request.wishes)
        let app = try dialogs.app(named: request.appID)
        _ = try loaded.plan(for: provider, clientMapping: request.mapping)
        let addresses = try addresses()
        let ticket = DialogTicket(
            plan: DialogPlan(
                provider: provider,
                appID: app.id.text,
                redirectURI: addresses.redirectURI,
                mapping: try mapping(of: request, for: application),
                end: try DialogEnd(
                    request,
                    returnURLs: dialogs.returnURLs,
                    allowedOrigins: application.settings.allowedOrigins
                ),
                isForLinking: request.isForLinking,
                isForAccountPage: request.accountPage != nil,
                invitation: request.invitation
            ),
            wishes: request.wishes,
            endsAt: clock.seconds + DialogTicket.seconds
        )
        guard ticket.plan.end.belongsToBrowser else {
            return try await dialogAddress(for: ticket, of: provider, in: nil, of: loaded)
        }
        let address = addresses.start(Base64URL.encode(ticket.encrypted(under: masterKeys, for: application.id)))
        guard address.utf8.count <= Self.maxAddressBytes else {
            throw Failure(
                .malformedRequest,
                """
                fieldsMapping and permissions together are too long for the address of the dialog. Send fewer of them \
                or a codeChallenge, or let the operator configure them.
                """
            )
        }
        return address
    }

    /// Returns the client's mapping; nil if the client sent none or the application allows none.
    private func mapping(of request: DialogRequest, for application: Application) throws(Failure) -> JSONValue? {
        guard application.settings.clientMapping, let mapping = request.mapping else { return nil }
        guard mapping.text.utf8.count <= DialogPlan.maxMappingBytes else {
            throw Failure(
                .malformedRequest,
                """
                fieldsMapping has more than \(DialogPlan.maxMappingBytes) bytes, the limit for a login through the \
                server. Map fewer fields, or let the operator store the mapping.
                """
            )
        }
        return mapping
    }
}
