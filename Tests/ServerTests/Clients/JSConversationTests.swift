import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A conversation with the JS SDK",
    .serialized,
    .deployed(
        Document(
            settings: #"{"roles": ["Editor"]}"#,
            properties: """
                {"avatar": {"type": "TEXT", "clientMappable": true}, "given": {"type": "STRING", "clientMappable": true},
                 "born": {"type": "DATE", "clientMappable": true}, "seen": {"type": "DATETIME", "clientMappable": true},
                 "credits": {"type": "INT"}}
                """,
            mapping: #"{"name": "name"}"#
        )
    )
)
struct JSConversationTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    private var sdk: JSClient { JSClient(deployment.client, base: deployment.path("")) }

    static let password = "four canary words tonight"

    /// Returns the shape of every user of this application: the system's members, then the given properties.
    private static func shape(
        status: String = "ENABLED",
        account: String = "BACKENDLESS",
        updated: String = "null",
        lastLogin: String = #""<ms>""#,
        locale: String = "null",
        properties: String,
        token: Bool
    ) -> Shape {
        Shape(
            stringLiteral: """
                {"___class":"Users","objectId":"<guid>","ownerId":"<guid>","created":"<ms>","updated":\(updated),
                 "lastLogin":\(lastLogin),"userStatus":"\(status)","socialAccount":"\(account)","accountType":"\(account)",
                 "blUserLocale":\(locale),\(properties)\(token ? #","user-token":"<token>""# : "")}
                """
        )
    }

    private static let plain =
        #""email":"ann.canary@example.com","name":"Ann","avatar":null,"given":null,"born":null,"seen":null,"credits":null"#

    @Test(
        "register, log in, be checked, be read, be changed as a whole, log out: every request as recorded, every reply as the SDK reads it"
    )
    func story() async throws {
        var sdk = sdk

        let registered = try await sdk.send(
            "POST",
            "users/register",
            body: #"{"email":"ann.canary@example.com","password":"\#(Self.password)","name":"Ann","blUserLocale":"en"}"#
        )
        #expect(registered.status == 200)
        #expect(
            Self.shape(lastLogin: "null", locale: #""en""#, properties: Self.plain, token: false).fits(
                try JSClient.value(registered)
            ),
            "\(registered.text)"
        )

        let user = try await sdk.logIn(
            "users/login",
            body: #"{"login":"ann.canary@example.com","password":"\#(Self.password)"}"#
        )
        #expect(Self.shape(locale: #""en""#, properties: Self.plain, token: true).fits(.object(user)), "\(user)")

        let token = try #require(sdk.userToken)
        #expect(try JSClient.value(try await sdk.send("GET", "users/isvalidusertoken/\(token)")) == .bool(true))

        let id = try #require(sdk.objectID)
        let current = try await sdk.send("GET", "data/Users/\(id)")
        #expect(
            Self.shape(locale: #""en""#, properties: Self.plain, token: false).fits(try JSClient.value(current)),
            "\(current.text)"
        )

        // The SDK sends the object back as received, with the app's changes.
        var changed = JSONObject(user.members.filter { !["name", "seen", "credits"].contains($0.key) })
        changed.append("name", .string("Ann Other"))
        changed.append("seen", .integer(1_700_000_123_456))
        changed.append("credits", .integer(1_000_000))
        let updated = try await sdk.send("PUT", "users/\(id)", body: JSONValue.object(changed).text)
        let properties =
            #""email":"ann.canary@example.com","name":"Ann Other","avatar":null,"given":null,"born":null,"seen":1700000123456,"credits":null"#
        #expect(
            Self.shape(updated: #""<ms>""#, locale: #""en""#, properties: properties, token: false).fits(
                try JSClient.value(updated)
            ),
            "\(updated.text)"
        )

        #expect(
            try JSClient.value(try await sdk.send("GET", "users/userroles")) == .array([.string("AuthenticatedUser")])
        )

        let gone = try await sdk.send("GET", "users/logout")
        #expect(gone.status == 200 && gone.body.isEmpty && gone.header("Content-Type") == nil)
        #expect(try JSClient.value(try await sdk.send("GET", "users/isvalidusertoken/\(token)")) == .bool(false))

        // The SDK still holds the ended session's token when the user logs in again.
        let again = try await sdk.logIn(
            "users/login",
            body: #"{"login":"ann.canary@example.com","password":"\#(Self.password)"}"#
        )
        #expect(again["objectId"] == user["objectId"])
        #expect(again["name"]?.string == "Ann Other")
        try await sdk.logOut()
        #expect(sdk.userToken == nil)
    }

    @Test("both social logins, with the exact bytes of their bodies")
    func social() async throws {
        let ann = try await deployment.newcomer(
            #"{"name": "Ann", "first_name": "Ann", "email": "a.canary@example.com"}"#
        )
        var sdk = sdk
        let first = try await sdk.logIn(
            "users/social/facebook/sdk/login",
            body:
                #"{"accessToken":"\#(ann.token)","fieldsMapping":{"email":"email","first_name":"given","picture.data.url":"avatar"}}"#
        )
        let properties =
            #""email":"a.canary@example.com","name":"Ann","avatar":"<any>","given":"Ann","born":null,"seen":null,"credits":null"#
        #expect(Self.shape(account: "FACEBOOK", properties: properties, token: true).fits(.object(first)), "\(first)")
        let second = try await sdk.logIn("users/social/facebook/login", body: #"{"accessToken":"\#(ann.token)"}"#)
        #expect(second["objectId"] == first["objectId"])
        #expect(second["user-token"] != first["user-token"])
    }

    @Test("a guest, who becomes a user with the same objectId and properties, and whose session ends")
    func guest() async throws {
        var sdk = sdk
        let guest = try await sdk.logIn("users/register/guest", body: nil)
        let empty = #""email":null,"name":null,"avatar":null,"given":null,"born":null,"seen":null,"credits":null"#
        #expect(Self.shape(status: "GUEST", properties: empty, token: true).fits(.object(guest)), "\(guest)")
        #expect(try JSClient.value(try await sdk.send("GET", "users/userroles")) == .array([.string("GuestUser")]))
        let id = try #require(sdk.objectID)
        let named = try await sdk.send("PUT", "users/\(id)", body: #"{"given":"G"}"#)
        #expect(named.status == 200, "\(named.text)")

        // The guest object as received, with the fields of the form.
        var record = guest
        record = JSONObject(record.members.filter { !["email", "given"].contains($0.key) })
        record.append("email", .string("guest.canary@example.com"))
        record.append("password", .string(Self.password))
        let converted = try await sdk.send("POST", "users/register", body: JSONValue.object(record).text)
        let user = try #require(try JSClient.value(converted)?.object)
        #expect(user["objectId"] == guest["objectId"])
        #expect(user["userStatus"]?.string == "ENABLED")
        #expect(user["given"]?.string == "G")
        #expect(user["user-token"] == nil)
        #expect(
            try JSClient.value(try await sdk.send("GET", "users/isvalidusertoken/\(sdk.userToken ?? "")"))
                == .bool(false)
        )
        let back = try await sdk.logIn(
            "users/login",
            body: #"{"login":"guest.canary@example.com","password":"\#(Self.password)"}"#
        )
        #expect(back["objectId"] == guest["objectId"])
    }

    @Test("faults have an integer code and a text, under a status that the SDK takes for an error")
    func faults() async throws {
        let sdk = sdk
        _ = try await sdk.send(
            "POST",
            "users/register",
            body: #"{"email":"taken.canary@example.com","password":"\#(Self.password)"}"#
        )
        let faults: [(String, String, String, Int64, Int)] = [
            ("POST", "users/register", "{}", 3011, 400),
            ("POST", "users/register", #"{"email":"x.canary@example.com"}"#, 3011, 400),
            ("POST", "users/register", #"{"email":"x.canary@example.com","password":""}"#, 3011, 400),
            ("POST", "users/register", #"{"password":"\#(Self.password)"}"#, 3013, 400),
            ("POST", "users/register", #"{"email":"no address","password":"\#(Self.password)"}"#, 3040, 400),
            (
                "POST", "users/register", #"{"email":"Taken.Canary@Example.com","password":"\#(Self.password)"}"#, 3033,
                409
            ),
            ("POST", "users/register", #"{"email":"y.canary@example.com","password":"short"}"#, 8160, 422),
            (
                "POST", "users/register",
                #"{"email":"y.canary@example.com","password":"\#(Self.password)","born":"soon"}"#, 8132, 422
            ),
            (
                "POST", "users/login", #"{"login":"taken.canary@example.com","password":"wrong canary words"}"#, 3003,
                401
            ),
            ("PUT", "users/00000000-0000-0000-0000-000000000000", "{}", 3064, 401),
            ("POST", "users/assignRole", #"{"user":"taken.canary@example.com","roleName":"Editor"}"#, 2011, 403),
            ("PUT", "users/00000000-0000-0000-0000-000000000000/status", #"{"userStatus":"DISABLED"}"#, 3054, 403),
        ]
        for (method, path, body, code, status) in faults {
            let reply = try await sdk.send(method, path, body: body)
            let fault = #expect(throws: JSClient.Fault.self, "\(path) \(body)") { try JSClient.value(reply) }
            #expect(fault?.code == code && fault?.status == status, "\(path) \(body): \(reply.text)")
            #expect(fault?.message?.isEmpty == false)
            #expect(throws: SwiftClient.Fault.self) { try SwiftClient.user(reply) }
        }
    }

    @Test("the own password, the own roles and the own record by its key, and who may not search")
    func own() async throws {
        let email = "own.canary@example.com"
        var sdk = sdk
        _ = try await sdk.send("POST", "users/register", body: #"{"email":"\#(email)","password":"\#(Self.password)"}"#)
        _ = try await sdk.logIn("users/login", body: #"{"login":"\#(email)","password":"\#(Self.password)"}"#)
        let id = try #require(sdk.objectID)
        for (password, valid) in [(Self.password, true), ("x", false)] {
            let verified = try await sdk.send("POST", "users/verifypassowrd", body: #"{"password":"\#(password)"}"#)
            #expect(try JSClient.value(verified)?.object?["valid"] == .bool(valid))
        }
        #expect(
            try JSClient.value(try await sdk.send("GET", "users/userroles/\(id)"))
                == .array([.string("AuthenticatedUser")])
        )
        let byKey = try JSClient.value(try await sdk.send("GET", "data/Users/pk?objectId=\(id)"))?.object
        #expect(byKey?["email"]?.string == email)
        let faults: [(String, String, String?, Int64)] = [
            (
                "POST", "data/Users/find", #"{"pageSize":10,"offset":0,"where":"email='\#(email)'","distinct":false}"#,
                1013
            ),
            ("POST", "data/Users/find", #"{"pageSize":1,"offset":0,"sortBy":"created asc"}"#, 1013),
            ("POST", "data/Users/count", "{}", 1013), ("GET", "users/role/Editor", nil, 3054),
            ("GET", "data/Users/00000000-0000-0000-0000-000000000000", nil, 8004),
            ("POST", "users/resendconfirmation/\(email)", nil, 3103),
            ("POST", "users/createEmailConfirmationURL/\(email)", nil, 3054),
            ("POST", "users/login", #"{"objectId":"\#(id)"}"#, 2014),
            ("PUT", "users/\(id)", #"{"objectId":"\#(id)","hobby":"go"}"#, 3031),
        ]
        for (method, path, body, code) in faults {
            let reply = try await sdk.send(method, path, body: body)
            let fault = #expect(throws: JSClient.Fault.self, "\(path)") { try JSClient.value(reply) }
            #expect(fault?.code == code, "\(path): \(reply.text)")
        }
        let removed = try JSClient.value(try await sdk.send("DELETE", "data/Users/\(id)"))
        #expect(removed?.object?["deletionTime"]?.integer != nil)
        let token = sdk.userToken ?? ""
        #expect(try JSClient.value(try await sdk.send("GET", "users/isvalidusertoken/\(token)")) == .bool(false))
        let refusal = await #expect(throws: JSClient.Fault.self) { try await sdk.logOut() }
        #expect(refusal?.code == 3064)
        #expect(sdk.userToken == nil, "3064 is a logout to the SDK, which still throws")
    }

    @Test("what the SDK asks before anybody has logged in")
    func beforeLogin() async throws {
        let sdk = sdk
        let info = try #require(try JSClient.value(try await sdk.send("GET", "info"))?.object)
        let expected: JSONObject = [
            "appId": .string("demo"), "apiKey": .string(Canary.apiKey), "rtURL": .null, "loggers": .array([]),
        ]
        #expect(info == expected)
        let columns = try #require(try JSClient.value(try await sdk.send("GET", "users/userclassprops"))?.array)
        let names = columns.compactMap { $0.object?["name"]?.string }
        #expect(
            names.contains("objectId") && names.contains("email") && names.contains("credits")
                && names.contains("password")
        )
        let shape: Shape = """
            {"name":"<text>","type":"<text>","required":"<any>","identity":"<any>","isPrimaryKey":"<any>","autoLoad":false,
             "defaultValue":null,"relatedTable":null,"customRegex":null}
            """
        for column in columns { #expect(shape.fits(column)) }
        let types = Dictionary(
            uniqueKeysWithValues: columns.compactMap { column in
                column.object?["name"]?.string.map { ($0, column.object?["type"]?.string ?? "") }
            }
        )
        #expect(
            types["born"] == "STRING" && types["seen"] == "DATETIME" && types["credits"] == "INT"
                && types["objectId"] == "STRING_ID"
        )
        #expect(
            columns.compactMap { $0.object?["identity"]?.bool == true ? $0.object?["name"]?.string : nil } == ["email"]
        )
    }
}
