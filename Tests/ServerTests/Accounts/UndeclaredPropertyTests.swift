import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

private let properties = """
    {"nick": {"type": "STRING", "clientMappable": true}, "extra": {"type": "JSON", "clientMappable": true},
     "credits": {"type": "INT"}, "limits": {"type": "JSON"}, "since": {"type": "DATETIME"}}
    """

@Suite(
    "What clients write and nobody has declared",
    .serialized,
    .deployed(
        Document(properties: properties),
        Document(application: "keeping", settings: #"{"undeclaredProperties": "store"}"#, properties: properties),
        Document(application: "dropping", settings: #"{"undeclaredProperties": "drop"}"#, properties: properties),
        Document(
            application: "mapping",
            settings: #"{"dynamicProperties": true, "undeclaredProperties": "refuse"}"#,
            properties: properties
        )
    )
)
struct UndeclaredPropertyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private func document(_ application: String) throws -> Document {
        try #require(deployment.documents.first { $0.application == application })
    }

    private func guest(of application: String = "demo") async throws -> LoginResult {
        let document = try document(application)
        return try deployment.signedIn(try await deployment.send("POST", "users/register/guest", to: document))
    }

    private func put(_ session: LoginResult, _ json: String, in application: String = "demo") async throws -> HTTPReply
    {
        let path = "users/\(session.objectID)"
        return try await deployment.send("PUT", path, json, token: session.token, to: try document(application))
    }

    private func ignored(_ reply: HTTPReply) -> String? { reply.header("Federation-Ignored-Properties") }

    /// The treatment of a member in an update, which is the same in a registration.
    private struct Row {
        let member: String
        /// The names in the refusal; empty without a refusal.
        var refused: [String] = []
        /// The response header that names the members where they are dropped; `nil` if none is dropped.
        var dropped: String?
        /// The contents of the column `dynamic` where members are kept; `nil` if that is refused, too.
        var kept: JSONObject? = [:]
    }

    private static let rows = [
        Row(member: #""shoe": 42"#, refused: ["shoe"], dropped: "shoe", kept: ["shoe": .integer(42)]),
        Row(
            member: #""shoe": 42, "nick": "n", "Shoe": {"a": []}"#,
            refused: ["shoe", "Shoe"],
            dropped: "shoe, Shoe",
            kept: ["shoe": .integer(42), "Shoe": .object(["a": .array([])])]
        ),
        // Names that no property can have.
        Row(member: #""favorite-color": 1"#, refused: ["favorite-color"], dropped: "favorite-color", kept: nil),
        Row(member: #""_id": 1, "1st": 1"#, refused: ["_id", "1st"], dropped: #"%"_id", %"1st""#, kept: nil),
        Row(member: #""id": 7, "code": 1"#, refused: ["id", "code"], dropped: "id, code", kept: nil),
        Row(member: #""locale": "en", "xmin": 1"#, refused: ["locale", "xmin"], dropped: "locale, xmin", kept: nil),
        Row(
            member: #""a\r\nSet-Cookie: x": 1, "": 1, "100% \"": 1"#,
            refused: ["a\r\nSet-Cookie: x", "", #"100% ""#],
            dropped: #"%"a%0d%0aSet-Cookie: x", %"", %"100%25 %22""#,
            kept: nil
        ),
        // `null` loses nothing.
        Row(member: #""shoe": null, "1st": null, "id": null"#),
        // The system's properties in any spelling, and markers of client SDKs.
        Row(
            member: """
                "ownerId": "x", "created": 1, "updated": 1, "lastLogin": 1, "userStatus": "DISABLED", "roles": ["Admin"],
                "socialAccount": "FACEBOOK", "accountType": "x", "oAuthIdentities": {"a": 1}, "___class": "Users",
                "__meta": "{}", "user-token": "x", "userToken": "x", "USER_TOKEN": "x", "emailVerified": true,
                "email_verified": true, "EMAILVERIFIED": true, "isEmailConfirmed": true, "object_id": "x", "Owner_Id": 1,
                "OBJECTID": 1, "password_": "x", "user-created": true, "missing-permissions": []
                """
        ),
    ]

    @Test(
        "are refused by their names, kept or dropped as the application has it; the system's are passed over in any spelling",
        arguments: rows.indices
    )
    func table(index: Int) async throws {
        let row = Self.rows[index]
        for application in ["demo", "dropping", "keeping"] {
            let ann = try await guest(of: application)
            let before = try await deployment.row(of: ann.objectID, in: application)
            let new =
                #"{"email": "new\#(index).canary@example.com", "password": "\#(Deployment.password)", \#(row.member)}"#
            let registration = try await deployment.send("POST", "users/register", new, to: document(application))
            let update = try await put(ann, "{\(row.member)}", in: application)
            let isRefused = application == "keeping" ? row.kept == nil : application == "demo" && !row.refused.isEmpty
            if isRefused {
                for (reply, reason) in [
                    (registration, "property_undeclared"), (update, "property_undeclared_in_update"),
                ] {
                    let data = try expectProblem(reply, reason)
                    #expect(data["properties"]?.array?.map(\.string) == row.refused, "\(reply.text)")
                }
                #expect(try await deployment.row(of: ann.objectID, in: application) == before)
                let made = "select count(*) from \(application).passwords where login like 'new\(index).%'"
                #expect(try await deployment.value(made) == "0")
                continue
            }
            for reply in [registration, update] {
                #expect(reply.status == 200, "\(application): \(reply.text)")
                #expect(ignored(reply) == (application == "dropping" ? row.dropped : nil), "\(application)")
                let id = JSON.object(reply.text)?["objectId"]?.string ?? ""
                let kept = try await deployment.row(of: id, in: application)?["dynamic"]
                #expect(kept == .object(application == "keeping" ? row.kept ?? [:] : [:]), "\(application)")
            }
        }
    }

    @Test("the message has the first names, and the data all of them")
    func manyNames() async throws {
        let members = (0..<500).map { #""p\#($0)": 1"# }.joined(separator: ",")
        let ann = try await guest()
        let refused = try await put(ann, "{\(members)}")
        let data = try expectProblem(refused, "property_undeclared_in_update")
        #expect(data["properties"]?.array?.count == 500)
        let message = JSON.object(refused.text)?["message"]?.string ?? ""
        #expect(message.contains(#""p0", "p1", "p2", "p3", "p4" and 495 more"#), "\(message)")
        let dropping = try await guest(of: "dropping")
        let header = ignored(try await put(dropping, "{\(members)}", in: "dropping")) ?? ""
        #expect(header.utf8.count < 1010 && header.hasPrefix("p0, p1, "), "\(header)")
        let listed = header.split(separator: ",").count - 1
        #expect(header.hasSuffix(", \(500 - listed)"), "\(header)")
    }

    @Test("an object that a reply had goes back as it is, whatever is in it")
    func sentBack() async throws {
        for application in ["demo", "keeping", "dropping", "mapping"] {
            let ann = try await guest(of: application)
            try await deployment.database.psql(
                """
                update \(application).users set credits = 5, limits = '{"b": [1, 2.50], "a": {"ü": null}}', since = now(),
                    extra = '{"z": 1, "a": "x"}' where object_id = '\(ann.objectID)'
                """
            )
            let whole = try await deployment.get(
                "users/\(ann.objectID)",
                token: ann.token,
                of: try document(application)
            )
            for body in [whole.text, JSONValue.object(ann.user).text] {
                let reply = try await put(ann, body, in: application)
                #expect(reply.status == 200, "\(application): \(reply.text)")
                let isFresh = body == whole.text
                #expect(ignored(reply) == (isFresh ? nil : "credits, limits, since"), "\(application)")
            }
            let row = try #require(try await deployment.row(of: ann.objectID, in: application))
            #expect(row["credits"]?.integer == 5)
        }
    }

    @Test("what is not open to clients is passed over, and named where it would have become another")
    func closed() async throws {
        let ann = try await guest()
        for (value, isNamed) in [("7", true), (#""x""#, true), ("{}", true), ("null", false)] {
            let reply = try await put(ann, #"{"credits": \#(value), "nick": "n"}"#)
            #expect(reply.status == 200 && ignored(reply) == (isNamed ? "credits" : nil), "\(value): \(reply.text)")
        }
        #expect(try await deployment.row(of: ann.objectID)?["credits"] == .null)
        let body = #"{"email": "rich.canary@example.com", "password": "\#(Deployment.password)", "credits": 1000}"#
        let registered = try await deployment.send("POST", "users/register", body)
        #expect(registered.status == 200 && ignored(registered) == "credits", "\(registered.text)")
    }

    @Test("what logins by a mapping bring in is no client's to change where undeclared properties are refused")
    func broughtByLogins() async throws {
        let mapping = try document("mapping")
        let visitor = try await deployment.newcomer(#"{"name": "Ann", "first_name": "A"}"#)
        let ann = try await deployment.loggedIn(visitor, mapping: #"{"first_name": "given"}"#, to: mapping)
        #expect(ann.user["given"]?.string == "A")
        let back = try await put(ann, JSONValue.object(ann.user).text, in: "mapping")
        #expect(back.status == 200 && ignored(back) == nil, "\(back.text)")
        let other = try await put(ann, #"{"given": "B", "nick": "n"}"#, in: "mapping")
        #expect(other.status == 200 && ignored(other) == "given", "\(other.text)")
        #expect(JSON.object(other.text)?["given"]?.string == "A")
        try expectProblem(try await put(ann, #"{"taken": 1}"#, in: "mapping"), "property_undeclared_in_update")
    }

    @Test("the settings of an application are changed and put back, and count at once")
    func settings() async throws {
        let owner = try await deployment.admin()
        let ann = try await guest()
        func set(_ value: String) async throws {
            try await owner.ask("PATCH", "applications/demo", #"{"settings": {"undeclaredProperties": \#(value)}}"#)
        }
        try await set(#""drop""#)
        #expect(ignored(try await put(ann, #"{"hat": 1}"#)) == "hat")
        try await set(#""store""#)
        #expect(JSON.object(try await put(ann, #"{"hat": 1}"#).text)?["hat"]?.integer == 1)
        try await set("null")
        try expectProblem(try await put(ann, #"{"coat": 1}"#), "property_undeclared_in_update")
    }

    @Test("an application of a former version, whose settings know nothing of it, goes on dropping")
    func former() async throws {
        let owner = try await deployment.admin()
        let ann = try await guest()
        try await deployment.database.psql(
            "update federation.applications set settings = settings - 'undeclaredProperties' where id = 'demo'"
        )
        // Any change makes the instance reload the application.
        try await owner.ask("POST", "applications/demo/keys", #"{"label": "again"}"#)
        #expect(ignored(try await put(ann, #"{"scarf": 1}"#)) == "scarf")
        let overview = try await owner.ask("GET", "applications/demo")
        #expect(overview["settings"]?.object?["undeclaredProperties"]?.string == "drop")
        try await owner.ask("PATCH", "applications/demo", #"{"settings": {"undeclaredProperties": null}}"#)
        try expectProblem(try await put(ann, #"{"scarf": 1}"#), "property_undeclared_in_update")
    }

    @Test("values of JSON properties have any key and ten thousand elements, at the cost of their bytes")
    func largeValues() async throws {
        let ann = try await guest()
        let marks = "e" + String(repeating: "\u{301}\u{323}", count: 63) + "xx"
        let pair = ["a\u{301}", "\u{E1}", "\u{212A}", "k", "größe", "日本", "", " ", "a/b~c", marks]
        let keys = JSONObject(pair.enumerated().map { JSONObject.Member($1, .integer(Int64($0))) })
        let names = (0..<6000).map { #""\#(String($0, radix: 36))":0"# }.joined(separator: ",")
        let values = [
            JSONValue.object(keys).text, "[" + Array(repeating: "0", count: 10_000).joined(separator: ",") + "]",
            "{\(names)}",
            String(repeating: "[", count: 15) + String(repeating: "]", count: 15),
        ]
        for value in values {
            let began = try deployment.service.process.usage().processorTime
            let reply = try await put(ann, #"{"extra": \#(value)}"#)
            let time = try deployment.service.process.usage().processorTime - began
            #expect(reply.status == 200, "\(value.prefix(50)): \(reply.text.prefix(200))")
            let stored = JSON.object(reply.text)?["extra"]
            #expect(stored == (try JSONParser.parse(value, limits: .stored)), "\(value.prefix(50))")
            #expect(time < .seconds(2), "\(value.prefix(50))")
            let again = try await put(ann, reply.text)
            #expect(again.status == 200, "\(again.text.prefix(200))")
        }
        let refused = [
            #"{"extra": {"\#(marks)x": 1}}"#: "too long", #"{"extra": {"ü": 1, "\u00fc": 2}}"#: "twice",
            #"{"extra": {"a\u0000": 1}}"#: "NUL", #"{"größe": {}}"#: "ASCII",
            #"{"extra": [\#(Array(repeating: "0", count: 10_001).joined(separator: ","))]}"#: "members",
            #"{"extra": \#(String(repeating: "[", count: 16))\#(String(repeating: "]", count: 16))}"#: "deep",
        ]
        for (body, word) in refused {
            let reply = try await put(ann, body)
            try expectProblem(reply, "malformed_request", "\(body.prefix(50))")
            #expect(JSON.object(reply.text)?["message"]?.string?.contains(word) == true, "\(reply.text)")
        }
    }

    @Test("a guest whose object has such a value becomes the user of a login as well")
    func guestUser() async throws {
        let guest = try await guest()
        let zeros = Array(repeating: "0", count: 600).joined(separator: ",")
        let filled = try await put(guest, #"{"extra": {"größe": [\#(zeros)]}}"#)
        #expect(filled.status == 200, "\(filled.text)")
        let visitor = try await deployment.newcomer()
        let object = try #require(JSON.object(filled.text))
        var members = object.members
        members.append(.init("user-token", .string(guest.token)))
        let text = JSONValue.object(JSONObject(members)).text
        let login = try await deployment.login(
            body: #"{"accessToken": "\#(visitor.token)", "guestUser": \#(text)}"#
        )
        #expect(JSON.object(login.text)?["objectId"]?.string == guest.objectID, "\(login.text.prefix(300))")
        #expect(JSON.object(login.text)?["extra"] == object["extra"])
        // The limits of the other members are unchanged.
        let wide = #"{"accessToken": "x", "fieldsMapping": {"größe": "nick"}}"#
        try expectProblem(try await deployment.login(body: wide), "malformed_request")
    }
}
