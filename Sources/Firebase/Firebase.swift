// Firebase — the protocol of Firebase Authentication's SDKs, for clients and for backends: docs/protocols/firebase.md.
//
// This module owns the protocol's paths and spellings, its user object, the claims of its ID tokens, the form of its
// mailed links, and the table that maps a failure to the names of errors that the SDKs know (`GoogleError`).
//
// It must not know another protocol, the administration, SQL, Graph or mappings. It sees HTTP and the use cases. Only
// Server imports this module, to wire it.
package import Accounts
package import Applications
package import Domain
import Encodings
package import HTTP
import HTTPTypes
package import Hummingbird
import Limiting
import Logins
package import PublicAPI

/// The protocol between Firebase Authentication's SDKs and their server.
package struct Firebase: ClientProtocol {
    private let useCases: UseCases
    private let directory: ApplicationDirectory
    private let importing: ImportingUsers
    private let clock: WallClock

    package init(
        useCases: UseCases,
        directory: ApplicationDirectory,
        importing: @escaping ImportingUsers,
        clock: WallClock
    ) {
        self.importing = importing
        self.useCases = useCases
        self.directory = directory
        self.clock = clock
    }

    package var firstSegments: [String] { hostNames + ["__"] }
    package var hostNames: [String] {
        [Self.toolkit, Self.legacyHost, Self.secureToken, Self.issuerHost, AccessTokenRoute.host]
    }

    /// The SDK's mode for an emulator opens the pages at another path.
    ///
    /// An application's id may be `emulator`, so the path is no route of its own.
    package var pathAliases: [(alias: String, path: String)] { [("/emulator/auth/", Self.pages)] }

    /// The host of the Identity Toolkit, which is the first path segment here, as in Google's emulator.
    static let toolkit = "identitytoolkit.googleapis.com"
    /// The host of the former version of the Identity Toolkit, which the SDK for iOS still calls.
    static let legacyHost = "www.googleapis.com"
    static let secureToken = "securetoken.googleapis.com"
    /// The base path of pages for browsers.
    private static let pages = "/__/auth/"
    /// The host in the issuer of ID tokens.
    static let issuerHost = "securetoken.google.com"

    package var errors: any ErrorTable { GoogleError() }
    package var exposedHeaders: String { "X-Request-Id" }

    /// Returns the origins that may send this request.
    ///
    /// A preflight has no API key, so it is allowed. The request itself names an application by its key.
    package func allowedOrigins(of request: Request) -> [String]? {
        let key = Self.key(of: request)
        guard !key.isEmpty, let loaded = try? directory.application(key: key[...]).application else { return nil }
        return loaded.application.settings.allowedOrigins
    }

    /// Returns nil: the ID token is in the body.
    package func session(of request: Request) -> String? { nil }

    package func mount(on routes: ApplicationRoutes) {
        let tokens = IDTokens(
            tokens: useCases.tokens,
            refreshTokens: useCases.refreshTokens,
            sessions: useCases.sessions,
            clock: clock
        )
        let logins = Paths(routes.counting(.login))
        let opening = DialogOpening(useCases)
        let pages = routes.below(Self.base(Self.pages, key: "apiKey"))
        HandlerRoutes(opening: opening, address: useCases.address, random: .system)
            .mount(on: pages.counting(.login), unlimited: pages)
        SignInRoutes(
            tokens: tokens,
            loginFlow: useCases.loginFlow,
            linking: useCases.linking,
            sameAddressLogins: useCases.sameAddressLogins,
            passwordLogins: useCases.passwordLogins,
            registrations: useCases.registrations,
            accountUpdate: useCases.accountUpdate,
            mailedLogins: useCases.mailedLogins
        ).mount(on: logins)
        ActionRoutes(
            tokens: tokens,
            passwordReset: useCases.passwordReset,
            verification: useCases.addressVerification,
            mailedLogins: useCases.mailedLogins
        ).mount(on: logins)
        AccountRoutes(
            tokens: tokens,
            accountUpdate: useCases.accountUpdate,
            linking: useCases.linking,
            deletions: useCases.accountDeletions,
            verification: useCases.addressVerification,
            opening: opening,
            random: .system
        ).mount(on: Paths(routes.counting(.query)), unlimited: Paths(routes))
        MultiFactorRoutes(tokens: tokens, secondFactor: useCases.secondFactor, ownFactors: useCases.ownFactors)
            .mount(on: Paths(routes.counting(.password)))
        // No rate limit keeps a client from continuing its session.
        RefreshRoutes(tokens: tokens).mount(on: routes.below(Self.base(Call.Version.secureToken.base)))
        ProjectRoutes().mount(on: Paths(routes))
        CustomTokenRoutes(tokens: tokens, serviceAccounts: useCases.serviceAccounts, logins: useCases.backendLogins)
            .mount(on: logins)
        AdminRoutes(useCases, tokens: tokens, importing: importing, clock: clock).mount(on: routes.counting(.query))
    }

    package func mount(onRoot routes: DescribedRouter, logging refusals: RefusalLog) {
        KeyRoutes(tokens: useCases.tokens, directory: directory, address: useCases.address).mount(on: routes.router)
        ActionPage(directory: directory, refusals: refusals, errors: errors).mount(on: routes.router)
        AccessTokenRoute(
            serviceAccounts: useCases.serviceAccounts,
            rateLimiter: useCases.rateLimiter,
            refusals: refusals
        ).mount(on: routes.router)
    }

    /// Returns the path of a call of the former version, without a leading slash.
    static func former(_ call: String) -> String { "\(legacyHost)/identitytoolkit/v3/relyingparty/\(call)" }

    /// The paths of the Identity Toolkit: each call has a path of its first and of its present version.
    struct Paths {
        private let present: ApplicationRoutes
        private let second: ApplicationRoutes
        private let former: ApplicationRoutes

        init(_ routes: ApplicationRoutes) {
            present = routes.below(Firebase.base(Call.Version.first.base))
            second = routes.below(Firebase.base(Call.Version.second.base))
            former = routes.below(Firebase.base("/" + Firebase.former("")))
        }

        /// Mounts a call and, if it has one, its path in the former version.
        ///
        /// The handler gets only requests to applications that serve clients of Firebase.
        func on(_ call: Call, use handler: @escaping Handler) {
            let version = call.version == .second ? second : present
            version.on(call.method, call.path, nil, use: Self.serving(handler))
            if let name = call.formerName { former.on(call.method, name, nil, use: Self.serving(handler)) }
        }

        private static func serving(_ handler: @escaping Handler) -> ApplicationRoutes.Handler {
            { request, context, loaded in
                try await handler(request, context, try ServedApplication(loaded))
            }
        }
    }

    typealias Handler = @Sendable (Request, APIContext, ServedApplication) async throws -> Response

    /// Returns a base path below which the API key of the request names the application.
    private static func base(_ path: String) -> ApplicationBase {
        ApplicationBase(path) { request, _ in .key(key(of: request)[...], of: nil) }
    }

    /// Returns a base path of pages, below which the query parameter `name` has the API key.
    private static func base(_ path: String, key name: String) -> ApplicationBase {
        ApplicationBase(path) { request, _ in .key(LenientQuery(request.uri.query)[name]?[...] ?? "", of: nil) }
    }

    /// Returns the API key of a request; empty without one.
    static func key(of request: Request) -> String {
        request.uri.queryParameters.get("key") ?? HTTPField.Name("x-goog-api-key").flatMap { request.headers[$0] } ?? ""
    }
}

/// An application that serves clients of Firebase.
struct ServedApplication: Sendable {
    let loaded: LoadedApplication
    let projectID: String

    /// - Throws: `CONFIGURATION_NOT_FOUND` for another application.
    init(_ loaded: LoadedApplication) throws(Failure) {
        guard let projectID = loaded.application.settings.firebase.projectID else {
            throw .google(
                "CONFIGURATION_NOT_FOUND",
                "This application does not serve clients of Firebase. The operator can set firebase.projectId."
            )
        }
        (self.loaded, self.projectID) = (loaded, projectID)
    }

    /// Returns the provider that a client names by `providerId`.
    ///
    /// - Throws: `OPERATION_NOT_ALLOWED` for a provider that the application does not have.
    func provider(_ id: String?) throws(Failure) -> ProviderName {
        guard let provider = id.flatMap({ ProviderID.provider($0) }), loaded.configured(provider) != nil else {
            throw .google("OPERATION_NOT_ALLOWED", "The identity provider configuration is not found.")
        }
        return provider
    }

    var settings: FirebaseSettings { loaded.application.settings.firebase }
}
