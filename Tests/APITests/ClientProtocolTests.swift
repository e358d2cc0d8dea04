import Accounts
import Applications
import Federation
import HTTPTypes
import Hummingbird
import Notifications
import TestSupport
import Testing
import Vocabulary

@testable import Backendless
@testable import HTTP

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
        // Backendless has this path below the id of an application, which this is none of.
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
        let backendless = Backendless(federation: parts.federation, directory: parts.directory)
        let protocols = ClientProtocols(backendless, beside: Self.letters(parts))
        #expect(protocols.applicationSegments == ["{applicationId}", "api", "v1"])
    }

    @Test("leave the same refusals in the log", arguments: Failure.Reason.allCases)
    func refusals(reason: Failure.Reason) {
        // By links and states people show who they are, too, and their pages and replies say so with another status.
        let isShown = [.linkInvalid, .loginStateInvalid, .guestInvalid].contains(reason)
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
        [Letters(federation: parts.federation, directory: parts.directory)]
    }

    /// Lends a listener that knows one application, with a key.
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

/// A protocol with a single route: `POST /letters.v1/{applicationId}?key=…` makes an account.
private struct Letters: ClientProtocol {
    let federation: Federation
    let directory: ApplicationDirectory

    static let key = "key-0123456789abcdef"
    static let signUp = "/letters.v1/shop?key=\(key)"

    let firstSegments = ["letters.v1"]
    let exposedHeaders = "Retry-After"
    var errors: any ErrorTable { Errors() }

    func allowedOrigins(of request: Request) -> [String]? {
        directory.allowedOrigins(of: request.uri.path.split(separator: "/").last ?? "")
    }

    func mount(on router: Router<APIContext>, refusals: RefusalLog) {
        router.post("/letters.v1/:applicationId") { request, context in
            let found = try directory.application(
                id: context.parameters["applicationId"] ?? "",
                key: request.uri.queryParameters["key"] ?? ""
            )
            let body = try await request.jsonObject()
            let record = UserRecord(
                properties: ["email": body["mail"] ?? .null],
                password: body.present("secret")
            )
            let written = try await federation.registrations.register(
                record,
                token: nil,
                from: RequestSource(name: context.peer.network.name),
                in: found.application,
                logger: context.logger
            )
            return Response.json(Self.encoded(written.user), status: .created)
        }
    }

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
