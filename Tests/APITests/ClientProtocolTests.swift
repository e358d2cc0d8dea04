import Accounts
import Applications
@testable import Backendless
import Description
import Domain
import Encodings
@testable import HTTP
import HTTPTypes
import Hummingbird
import Messaging
@testable import PublicAPI
import Testing
import TestSupport

@Suite("Two protocols of clients on one listener")
struct ClientProtocolTests {
    @Test("reach the same users by the same use cases, each in its own words")
    func users() async throws {
        try await Self.withProtocols { listeners in
            let made = try await listeners.call(.post, Letters.signUp, headers: Self.json, body: Self.ann)
            #expect(made.status == 201)
            let id = try #require(made.json?["user"]?.object?["uid"]?.string)
            #expect(made.text == #"{"user":{"uid":"\#(id)","mail":"ann@example.com"}}"#)

            let login = try await listeners.call(
                .post,
                "/shop/\(Self.key)/users/login",
                headers: Self.json,
                body: #"{"login": "ann@example.com", "password": "plenty of letters"}"#
            )
            #expect(login.status == 200, "\(login.text)")
            #expect(login.json?["___class"]?.string == "Users")
            #expect(login.json?["objectId"]?.string == id)
        }
    }

    @Test("find the application by what they name: one of them names its key alone")
    func unknownKey() async throws {
        try await Self.withProtocols { listeners in
            let unknown = try await listeners.call(
                .post,
                "/letters.v1/accounts?key=key-0123456789abcdeX",
                headers: Self.json,
                body: Self.ann
            )
            #expect(unknown.text == #"{"error":"UNKNOWN_APPLICATION"}"#)
            let none = try await listeners.call(.post, "/letters.v1/accounts", headers: Self.json, body: Self.ann)
            #expect(none.text == #"{"error":"UNKNOWN_APPLICATION"}"#)
        }
    }

    @Test("the OpenAPI document leaves out the routes of a base without an address")
    func undocumented() throws {
        let parts = try Parts()
        let letters = Letters(useCases: parts.useCases, directory: parts.directory)
        let both = parts.publicListener(beside: [letters])
        #expect(both.document(version: "1") == parts.publicListener().document(version: "1"))
        #expect(both.router.routes.contains { $0.path.description == "/letters.v1/accounts" })
    }

    @Test("tell the same failure by a status, a code and a body of their own")
    func failures() async throws {
        try await Self.withProtocols { listeners in
            _ = try await listeners.call(.post, Letters.signUp, headers: Self.json, body: Self.ann)
            let again = try await listeners.call(.post, Letters.signUp, headers: Self.json, body: Self.ann)
            #expect(again.status == 400 && again.text == #"{"error":"LOGIN_TAKEN"}"#)
            let other = try await listeners.call(
                .post,
                "/shop/\(Self.key)/users/register",
                headers: Self.json,
                body: #"{"email": "ann@example.com", "password": "plenty of letters"}"#
            )
            #expect(other.status == 409 && other.reason == "login_taken" && other.json?["code"]?.integer == 3033)
        }
    }

    @Test("have what fits none of their routes each for itself, also below the segment of the other")
    func paths() async throws {
        let listeners = try Listeners(beside: Self.letters)
        #expect(try await listeners.call(.get, "/letters.v1/nothing/here").text == #"{"error":"NOT_FOUND"}"#)
        #expect(try await listeners.call(.post, "/letters.v1//x").text == #"{"error":"NOT_FOUND"}"#)
        let method = try await listeners.call(.get, Letters.signUp)
        #expect(method.text == #"{"error":"METHOD_NOT_ALLOWED"}"# && method.headers[.allow] == "POST")
        // Backendless has this path below an application id, and `letters.v1` is no application.
        #expect(try await listeners.call(.get, "/letters.v1/x/users/login").text == #"{"error":"NOT_FOUND"}"#)
        #expect(try await listeners.call(.get, "/shop/nothing").reason == "not_found")
        #expect(try await listeners.call(.get, "/letters.v10/nothing/here").reason == "not_found")
    }

    @Test("let browser pages of the origins that each of them has call, with headers that forge nothing")
    func crossOrigin() async throws {
        try await Self.withProtocols { listeners in
            func preflight(_ path: String, from origin: String) async throws -> HTTPFields {
                let headers: HTTPFields = [
                    .origin: origin, .accessControlRequestMethod: "POST",
                    .accessControlRequestHeaders: "content-type, user-token,x-forwarded-for",
                ]
                return try await listeners.call(.options, path, headers: headers).headers
            }
            let letters = try await preflight(Letters.signUp, from: "https://app.example")
            #expect(letters[.accessControlAllowHeaders] == "content-type, user-token")
            #expect(letters[.accessControlAllowOrigin] == "https://app.example")
            #expect(try await preflight(Letters.signUp, from: "https://evil.example")[.accessControlAllowOrigin] == nil)
            let other = try await preflight("/shop/\(Self.key)/users/login", from: "https://app.example")
            #expect(other[.accessControlAllowHeaders] == "content-type, user-token")
        }
    }

    @Test("need the pages of applications below their fixed segments only where an application can be called so")
    func applicationSegments() throws {
        let parts = try Parts()
        let backendless = Backendless(useCases: parts.useCases, directory: parts.directory)
        let protocols = ClientProtocols(backendless, beside: Self.letters(parts))
        #expect(protocols.applicationSegments == ["{applicationId}", "api", "v1"])
    }

    @Test("leave to neither what providers call: it is there without Backendless, too")
    func callbacks() throws {
        let parts = try Parts()
        let letters = Letters(useCases: parts.useCases, directory: parts.directory)
        let listener = PublicListener(
            of: ClientProtocols(letters, beside: []),
            useCases: parts.useCases,
            directory: parts.directory
        )
        let paths = Set(listener.router.routes.map { "\($0.method.rawValue) \($0.path)" })
        for base in ["/{applicationId}/{apiKey}", "/api/{apiKey}", "/api"] {
            let provider = base + "/users/oauth/{provider}"
            let expected: Set = [
                "POST \(provider)/deauthorize", "POST \(provider)/deletion", "GET \(provider)/deletion/{code}",
                "GET \(provider)/webhook", "POST \(provider)/webhook",
            ]
            #expect(paths.isSuperset(of: expected), "\(base)")
        }
        #expect(!paths.contains { $0.contains("loginWithFacebook") })
    }

    @Test("leave the same refusals in the log", arguments: Failure.Reason.allCases)
    func refusals(reason: Failure.Reason) {
        // Links and states are credentials, too; their pages and responses report a refusal with another status. A
        // service account is refused by another protocol.
        let others: [Failure.Reason] = [
            .linkInvalid, .loginStateInvalid, .guestInvalid, .operatorTokenInvalid, .operatorForbidden,
        ]
        let isShown = others.contains(reason)
        let status = Problem().status(of: reason)
        #expect(
            RefusalLog.isRefusal(reason)
                == (isShown || [.unauthorized, .forbidden, .tooManyRequests].contains(status))
        )
    }

    private static let key = Letters.key
    private static let json: HTTPFields = [.contentType: "application/json"]
    private static let ann = #"{"mail": "ann@example.com", "secret": "plenty of letters"}"#

    private static func letters(_ parts: Parts) -> [any ClientProtocol] {
        [Letters(useCases: parts.useCases, directory: parts.directory)]
    }

    /// Lends listeners that have the `Letters` protocol and one application with an API key.
    private static func withProtocols(_ body: @escaping @Sendable (Listeners) async throws -> Void) async throws {
        try await withDatabase(.schema) { database in
            try await database.psql(
                """
                insert into federation.applications (id, name, schema_name, settings)
                    values ('shop', 'Shop', 'shop', '{"allowedOrigins": ["https://app.example"]}');
                select federation.create_application_schema(schema_name) from federation.applications;
                insert into federation.api_keys (application_id, key_hash, label)
                    values ('shop', sha256('\(key)'), 'key');
                """
            )
            try await Listeners.onDatabase(database.url, beside: letters) { listeners in
                try await listeners.parts.directory.refresh()
                try await body(listeners)
            }
        }
    }
}

/// A client protocol with a single route.
///
/// `POST /letters.v1/accounts?key=…` creates an account in the application that has the API key.
private struct Letters: ClientProtocol {
    let useCases: UseCases
    let directory: ApplicationDirectory

    static let key = "key-0123456789abcdef"
    static let signUp = "/letters.v1/accounts?key=\(key)"

    let firstSegments = ["letters.v1"]
    let exposedHeaders = "Retry-After"
    var errors: any ErrorTable { Errors() }

    func allowedOrigins(of request: Request) -> [String]? {
        let found = try? directory.application(key: Self.key(in: request))
        return found?.application.application.settings.allowedOrigins
    }

    func session(of request: Request) -> String? { nil }

    func mount(on routes: ApplicationRoutes) {
        let base = ApplicationBase("/letters.v1/") { request, _ in .key(Self.key(in: request), of: nil) }
        let operation = Operation("signUp", "Creates an account.", .init(201, "The account."))
        routes.below(base).on(.post, "accounts", operation) { request, context, application in
            let body = try await request.jsonObject()
            let record = UserRecord(
                properties: ["email": body["mail"] ?? .null],
                password: body.present("secret")
            )
            let written = try await useCases.registrations.register(
                record,
                token: nil,
                from: context.source,
                in: application,
                logger: context.logger
            )
            return Response.json(Self.encoded(written.user), status: .created)
        }
    }

    private static func key(in request: Request) -> Substring { request.uri.queryParameters["key"] ?? "" }

    private static func encoded(_ user: User) -> JSONWriter {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("user")
            writer.object { writer in
                writer.member("uid", user.objectID.description)
                writer.member("mail", user.email.map(JSONValue.string) ?? .null)
            }
        }
        return writer
    }

    private struct Errors: ErrorTable {
        func status(of reason: Failure.Reason) -> HTTPResponse.Status { .badRequest }

        func write(_ failure: Failure, requestID: String, into writer: inout JSONWriter) {
            writer.object { $0.member("error", failure.reason.rawValue.uppercased()) }
        }
    }
}
