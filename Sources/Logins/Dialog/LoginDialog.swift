package import Applications
package import Domain
import Encodings
package import Limiting
import Providers
package import Secrets
package import Store

/// Logins through the server: a browser goes to the provider's dialog and comes back with a code.
package struct LoginDialog: Sendable {
    let store: Store
    let masterKeys: MasterKeys
    let authenticator: Authenticator
    let writer: SignInWriter
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
        writer: SignInWriter,
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

    /// The maximum length, in bytes, of an address that leads to the dialog; proxies on the way refuse longer ones.
    private static let mostAddressBytes = 7680

    /// Begins a login through the server.
    ///
    /// Finds every error of the request before the user goes to the provider: it compiles the mapping and decides the
    /// end of the login.
    ///
    /// - Parameters:
    ///   - request: The client's request.
    ///   - provider: The provider of the dialog.
    ///   - loaded: The application.
    ///   - addresses: Returns this service's addresses; called after all other checks of the request.
    /// - Returns: The address for the browser. With a client's challenge that is the provider's dialog. Without one, it
    ///   is a page of this service that leads to the dialog and sets a cookie, without which nobody can end the login.
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
        let address = addresses.start(Base64URL.encode(ticket.sealed(under: masterKeys, for: application.id)))
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

    /// Returns the client's mapping if the application allows one.
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
}
