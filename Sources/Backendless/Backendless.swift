// Backendless — the protocol of Backendless' client SDKs, with the additions of this service: docs/api.
//
// This module owns the protocol's routes and spellings, the readers and writers of its JSON (`Wire`), the user object
// with `___class`, and the table that maps a failure to a status and a code (`Problem`).
//
// It must not know another protocol, the administration, SQL, Graph or mappings. It sees HTTP and the use cases. Only
// Server imports this module, to wire it.
package import Accounts
package import Applications
import Description
import Domain
package import Encodings
package import HTTP
import HTTPTypes
package import Hummingbird
import Limiting
import Logins
package import PublicAPI

/// The protocol between Backendless's client SDKs and their server, which this service implements for user management.
package struct Backendless: ClientProtocol {
    private let useCases: UseCases
    private let directory: ApplicationDirectory

    package init(useCases: UseCases, directory: ApplicationDirectory) {
        self.useCases = useCases
        self.directory = directory
    }

    package var firstSegments: [String] { [Self.headerBound] }

    package var bases: [ApplicationBase] { [Self.headers] }

    /// The first path segment in the requests of old client SDKs (docs/protocols/backendless.md §1.1).
    ///
    /// These requests name the application in headers and not in the path.
    private static let headerBound = "v1"

    static let headers = ApplicationBase(
        "/\(headerBound)/",
        server: ServerAddress(
            "\(ServerAddress.local)/\(headerBound)",
            "With the headers application-id and secret-key, for JS SDK 3."
        )
    ) { request, _ in
        .key(
            request.headers[.secretKey].map { $0[...] } ?? "",
            of: request.headers[.applicationID].map { $0[...] } ?? ""
        )
    }

    package var errors: any ErrorTable { Problem() }

    package var exposedHeaders: String {
        "Federation-User-Created, Federation-Missing-Permissions, Federation-Ignored-Properties, Retry-After, X-Request-Id"
    }

    package func allowedOrigins(of request: Request) -> [String]? {
        let segments = request.uri.path.split(separator: "/", maxSplits: 2)
        let first = segments.first ?? ""
        // As in the routes, the second segment decides: after `/api` comes either an API key or the beginning of a
        // route.
        let hasKey = segments.dropFirst().first.map { $0.utf8.count >= 16 } ?? false
        if !hasKey, first.utf8.elementsEqual(ApplicationBase.hostBound.utf8) {
            return request.hostName.flatMap { directory.allowedOrigins(ofHost: $0) }
        }
        if !hasKey, first.utf8.elementsEqual(Self.headerBound.utf8) {
            // A preflight names no application, so it is allowed. The request itself names an application. If that
            // application does not list the origin, the page cannot read the response.
            return request.headers[.applicationID].flatMap { directory.allowedOrigins(of: $0[...]) }
        }
        return directory.allowedOrigins(of: first)
    }

    package func session(of request: Request) -> String? { request.headers[.userToken] }

    package var securitySchemes: JSONObject {
        [
            "userToken": .object([
                "type": .string("apiKey"), "in": .string("header"), "name": .string("user-token"),
                "description": .string("The session that a login opened."),
            ])
        ]
    }

    /// The only value of the path parameter `table`.
    ///
    /// `requireUsersTable` refuses all other values.
    package var fixedParameters: [String: String] { ["table": "Users"] }

    package func mount(on routes: ApplicationRoutes) {
        // These routes have no rate limit, so that session checks and logouts always work.
        ApplicationInfoRoutes().mount(on: routes)
        SessionRoutes(sessions: useCases.sessions).mount(on: routes)
        TokenRoutes(tokens: useCases.tokens).mount(on: routes)
        OutsideRoutes().mount(on: routes)
        let logins = routes.counting(.login)
        LoginRoutes(loginFlow: useCases.loginFlow).mount(on: logins)
        SimpleRegisterRoutes(registrations: useCases.registrations, loginFlow: useCases.loginFlow).mount(on: logins)
        let pages = DialogPages(
            useCases,
            errors: errors,
            code: { String(Problem.row(of: $0).code) },
            user: { UserReply.writeWithHeaders($0).bytes }
        )
        DialogRoutes(pages: pages, opening: DialogOpening(useCases), address: useCases.address).mount(on: logins)
        NonceRoutes(nonces: useCases.nonces).mount(on: logins)
        IdentityRoutes(linking: useCases.linking, providerTokens: useCases.providerTokens).mount(on: logins)
        ReverseAuthRoutes(reverseAuthorization: useCases.reverseAuthorization).mount(on: logins)
        let passwords = routes.counting(.password)
        PasswordRoutes(
            serverLogin: useCases.serverLogin,
            passwordLogins: useCases.passwordLogins,
            reauthentication: useCases.reauthentication
        ).mount(on: passwords)
        SecondFactorRoutes(secondFactor: useCases.secondFactor, ownFactors: useCases.ownFactors)
            .mount(on: passwords)
        RegistrationRoutes(registrations: useCases.registrations).mount(on: routes.counting(.registration))
        MergeRoutes(merges: useCases.ownMerges).mount(on: passwords)
        let sameAddress = SameAddressRoutes(sameAddressLogins: useCases.sameAddressLogins)
        sameAddress.mountFinish(on: passwords)
        sameAddress.mountMail(on: routes.counting(.mail))
        PasswordMailRoutes(
            passwordReset: useCases.passwordReset,
            confirmation: useCases.confirmation,
            reversal: useCases.reversal
        ).mount(on: routes.counting(.mail))
        let queries = routes.counting(.query)
        OwnSessionRoutes(sessions: useCases.sessions).mount(on: queries)
        AccountLinkRoutes(links: useCases.accountLinks).mount(on: queries)
        CollectionRoutes(collection: useCases.collection).mount(on: queries)
        UserRoutes(
            accountUpdate: useCases.accountUpdate,
            otherRecords: useCases.otherRecords,
            deletions: useCases.accountDeletions
        ).mount(on: queries)
        RoleRoutes(roles: useCases.roles).mount(on: queries)
        ServerRoutes(roles: useCases.roles).mount(on: queries)
    }
}

extension Request {
    /// The session token in the request's header `user-token`; nil if its text does not have the form of one.
    var userToken: SessionToken? { headers[.userToken].flatMap { SessionToken(received: $0) } }

    /// The session that the header `user-token` names.
    var userSession: SessionKey? { userToken?.key }
}

extension JSONObject {
    /// The OpenAPI members of an operation that requires a session.
    static let session: JSONObject = ["security": .array([.object(["userToken": .array([])])])]

    /// The OpenAPI members of an operation that accepts a session and does not require one.
    static let mayHaveSession: JSONObject = ["security": .array([.object(["userToken": .array([])]), .object([:])])]
}
