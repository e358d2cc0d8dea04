// Backendless — the protocol of Backendless' client SDKs, and of what this service has added to it: docs/api.md.
//
// It owns their base paths (`ApplicationRoutes`), routes and spellings, the readers and writers of their JSON (`Wire`),
// the user object with `___class`, and the table that turns a failure into a status and a code (`Problem`). What
// providers call and the pages of login dialogs are here, too, because their addresses begin with those base paths.
//
// It must not know another protocol, the administration, SQL, Graph or mappings: it sees HTTP and the use cases.
// Nothing but Server, which wires it, imports it.
package import Applications
import EmbeddedFiles
package import Federation
package import HTTP
package import Hummingbird
import Limiting
import Notifications
import Vocabulary

/// What clients of Backendless call.
package struct Backendless: ClientProtocol {
    private let federation: Federation
    private let directory: ApplicationDirectory

    /// - Parameters:
    ///   - federation: The use cases.
    ///   - directory: The applications.
    package init(federation: Federation, directory: ApplicationDirectory) {
        self.federation = federation
        self.directory = directory
    }

    package var firstSegments: [String] { [ApplicationRoutes.hostBound, ApplicationRoutes.headerBound] }

    package var errors: any ErrorTable { Problem() }

    package var exposedHeaders: String {
        "Federation-User-Created, Federation-Missing-Permissions, Federation-Ignored-Properties, Retry-After, X-Request-Id"
    }

    package func allowedOrigins(of request: Request) -> [String]? {
        let segments = request.uri.path.split(separator: "/", maxSplits: 2)
        let first = segments.first ?? ""
        // As the routes tell the base paths apart: what follows `/api` is a key, or the beginning of a route.
        let hasKey = segments.dropFirst().first.map { $0.utf8.count >= 16 } ?? false
        if !hasKey, first.utf8.elementsEqual(ApplicationRoutes.hostBound.utf8) {
            return request.hostName.flatMap { directory.allowedOrigins(ofHost: $0) }
        }
        if !hasKey, first.utf8.elementsEqual(ApplicationRoutes.headerBound.utf8) {
            // A preflight names no application: it is let pass, and the reply to the request itself is kept from other
            // pages.
            return request.headers[.applicationID].flatMap { directory.allowedOrigins(of: $0[...]) }
        }
        return directory.allowedOrigins(of: first)
    }

    package func mount(on router: Router<APIContext>, refusals: RefusalLog) {
        // The document of docs/openapi/; a test holds it to the routes.
        router.get("/openapi.json") { _, _ in Response.json(EmbeddedFiles.publicOpenAPI) }
        let routes = ApplicationRoutes(
            router: router,
            directory: directory,
            refusals: refusals,
            rateLimiter: federation.rateLimiter
        )
        // What checks a session or ends it, and what a provider calls, is not counted: that goes on.
        ApplicationInfoRoutes().mount(on: routes)
        SessionRoutes(sessions: federation.sessions).mount(on: routes)
        TokenRoutes(tokens: federation.tokens).mount(on: routes)
        OutsideRoutes().mount(on: routes)
        let logins = routes.counting(.login)
        LoginRoutes(signIn: federation.signIn).mount(on: logins)
        SimpleRegisterRoutes(registrations: federation.registrations, signIn: federation.signIn).mount(on: logins)
        DialogRoutes(
            dialog: federation.dialog,
            factors: federation.dialogFactors,
            address: federation.address
        ).mount(on: logins)
        NonceRoutes(nonces: federation.nonces).mount(on: logins)
        IdentityRoutes(linking: federation.linking, providerTokens: federation.providerTokens).mount(on: logins)
        ReverseAuthRoutes(reverseAuthorization: federation.reverseAuthorization).mount(on: logins)
        let passwords = routes.counting(.password)
        PasswordRoutes(
            serverLogin: federation.serverLogin,
            passwordLogins: federation.passwordLogins,
            reauthentication: federation.reauthentication
        ).mount(on: passwords)
        SecondFactorRoutes(secondFactor: federation.secondFactor, ownFactors: federation.ownFactors)
            .mount(on: passwords)
        RegistrationRoutes(registrations: federation.registrations).mount(on: routes.counting(.registration))
        PasswordMailRoutes(
            passwordReset: federation.passwordReset,
            confirmation: federation.confirmation,
            reversal: federation.reversal
        ).mount(on: routes.counting(.mail))
        let queries = routes.counting(.query)
        OwnSessionRoutes(sessions: federation.sessions).mount(on: queries)
        AccountLinkRoutes(links: federation.accountLinks).mount(on: queries)
        CollectionRoutes(collection: federation.collection).mount(on: queries)
        UserRoutes(
            accountUpdate: federation.accountUpdate,
            otherRecords: federation.otherRecords,
            deletions: federation.accountDeletions
        ).mount(on: queries)
        RoleRoutes(roles: federation.roles).mount(on: queries)
        ServerRoutes(roles: federation.roles).mount(on: queries)
        CallbackRoutes(
            deauthorizations: federation.deauthorizations,
            deletions: federation.deletions,
            webhooks: federation.webhooks,
            address: federation.address
        ).mount(on: routes)
    }
}

extension APIContext {
    /// Where the request comes from, as far as attempts are counted for it.
    var source: RequestSource { RequestSource(name: peer.network.name) }

    /// The same for what each instance counts; nil for a server of the application's, through which many people come.
    var limitedSource: LimitedSource? { apiKey?.isServer == true ? nil : peer.limitedSource }
}
