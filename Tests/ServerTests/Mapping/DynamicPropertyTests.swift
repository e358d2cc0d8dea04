import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Dynamic properties",
    .serialized,
    .deployed(
        Document(settings: #"{"dynamicProperties": true}"#, properties: #"{"score": {"type": "INT"}}"#),
        Document(application: "filling", settings: #"{"dynamicProperties": true}"#),
        // From now on tables cannot be changed: a login that tries fails.
        sql: """
            create function refuse_ddl() returns event_trigger language plpgsql as $$ begin raise exception 'DDL'; end $$;
            create event trigger no_ddl on ddl_command_start execute function refuse_ddl();
            """
    )
)
struct DynamicPropertyTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("a property that nobody declared is kept as the JSON that it is, and is part of the user")
    func kept() async throws {
        let visitor = try await deployment.newcomer(
            #"{"name": "Ann", "age_range": {"min": 21}, "permissions": {"public_profile": "granted", "user_age_range": "granted"}}"#
        )
        let mapping = #"{"name": "nickName", "age_range": "range", "age_range.min": "age"}"#
        let signedIn = try await deployment.loggedIn(visitor, mapping: mapping)
        #expect(signedIn.user["nickName"]?.string == "Ann")
        #expect(signedIn.user["range"] == JSON.value(#"{"min": 21}"#))
        #expect(signedIn.user["age"]?.integer == 21)
        let row = try await deployment.row(of: signedIn.objectID)
        #expect(row?["dynamic"] == JSON.value(#"{"age": 21, "range": {"min": 21}, "nickName": "Ann"}"#))

        // A login without the mapping removes nothing.
        let again = try await deployment.loggedIn(visitor)
        #expect(again.user["nickName"]?.string == "Ann")
    }

    @Test("a property that nobody declared is among the members of the class, once it is there")
    func described() async throws {
        func columns() async throws -> [JSONObject] {
            let reply = try await deployment.get("users/userclassprops")
            return JSON.value(reply.text)?.array?.compactMap(\.object) ?? []
        }
        #expect(try await !columns().contains { $0["name"]?.string == "brought" })
        let visitor = try await deployment.newcomer(#"{"name": "Ann"}"#)
        _ = try await deployment.loggedIn(visitor, mapping: #"{"name": "brought", "id": "alsoBrought"}"#)
        try await eventually("the service knows of them") {
            try await columns().contains { $0["name"]?.string == "brought" }
        }
        let unknown = try await columns().filter { $0["type"]?.string == "UNKNOWN" }
        let names = unknown.compactMap { $0["name"]?.string }
        #expect(names == names.sorted() && names.contains("alsoBrought"))
        #expect(unknown.allSatisfy { $0["required"] == .bool(false) && $0["identity"] == .bool(false) })
        #expect(try await columns().count { $0["name"]?.string == "score" && $0["type"]?.string == "INT" } == 1)
    }

    @Test("T-50: dynamic or not, system properties and what the operator keeps to himself stay out of reach")
    func reserved() async throws {
        let visitor = try await deployment.newcomer()
        try await deployment.expectNothingWritten {
            for name in [
                "userStatus", "USERSTATUS", "objectid", "password", "roles", "xmin", "dynamic", "email_verified",
                "score",
            ] {
                let reply = try await deployment.login(visitor, mapping: #"{"id": "\#(name)"}"#)
                try expectProblem(reply, "mapping_target_not_allowed", "\(name)")
            }
        }
    }

    @Test("T-55: a name has at most 63 bytes")
    func nameLength() async throws {
        let visitor = try await deployment.newcomer()
        let name = String(repeating: "n", count: 63)
        #expect(
            try await deployment.loggedIn(visitor, mapping: #"{"id": "\#(name)"}"#).user[name]?.string == visitor.id
        )
        try await deployment.expectNothingWritten {
            let reply = try await deployment.login(visitor, mapping: #"{"id": "\#(name)n"}"#)
            try expectProblem(reply, oneOf: ["mapping_target_not_allowed", "mapping_invalid"])
        }
    }

    @Test("T-55: an application has at most 100 undeclared names, and no login ever changes a table")
    func atMostAHundred() async throws {
        let filling = deployment.documents[1]
        let visitor = try await deployment.newcomer()
        let sources = [
            "id", "name", "email", "first_name", "last_name", "middle_name", "short_name", "name_format", "link",
            "gender",
        ]
        func mapping(_ round: Int, of count: Int = 10) -> String {
            let pairs = sources.prefix(count).enumerated().map { #""\#($0.element)": "p\#(round * 10 + $0.offset)""# }
            return "{\(pairs.joined(separator: ", "))}"
        }
        for round in 0..<9 { _ = try await deployment.loggedIn(visitor, mapping: mapping(round), to: filling) }
        // Nine more make 99; two more would be one too many, however many logins try concurrently.
        _ = try await deployment.loggedIn(visitor, mapping: mapping(9, of: 9), to: filling)
        let replies = try await withThrowingTaskGroup(of: HTTPReply.self) { group in
            for number in 0..<8 {
                group.addTask {
                    try await deployment.login(visitor, mapping: #"{"id": "last\#(number)"}"#, to: filling)
                }
            }
            return try await group.reduce(into: [HTTPReply]()) { $0.append($1) }
        }
        #expect(replies.count { $0.status == 200 } == 1)
        for reply in replies where reply.status != 200 { try expectProblem(reply, "mapping_target_not_allowed") }
        let names = try await deployment.value(
            "select count(*) from federation.dynamic_properties where application_id = 'filling'"
        )
        #expect(names == "100")
        // Known names are still written.
        _ = try await deployment.loggedIn(visitor, mapping: mapping(0), to: filling)
    }

    @Test("declaring a dynamic property moves its values into the column")
    func declared() async throws {
        try await deployment.database.psql("drop event trigger no_ddl")
        let visitor = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let first = try await deployment.loggedIn(visitor, mapping: #"{"name": "nick", "id": "other"}"#)
        try await deployment.database.psql(
            "insert into federation.dynamic_properties (application_id, name) values ('witness', 'nick')"
        )

        var document = deployment.documents[0]
        document.properties = #"{"score": {"type": "INT"}, "nick": {"type": "STRING", "clientMappable": true}}"#
        try await document.apply(to: deployment.database)
        let row = try await deployment.row(of: first.objectID)
        #expect(row?["nick"]?.string == "Ann")
        #expect(row?["dynamic"] == JSON.value(#"{"other": "\#(visitor.id)"}"#))
        let names = try await deployment.database.psql(
            """
            select application_id, name from federation.dynamic_properties where name in ('nick', 'other') order by 1
            """
        )
        #expect(names == [["demo", "other"], ["witness", "nick"]], "other applications keep theirs")

        try await deployment.simulator.patch(person: visitor.key, #"{"name": "Anna"}"#)
        try await eventually("the service knows of the column") {
            _ = try await deployment.login(visitor, mapping: #"{"name": "nick"}"#)
            return try await deployment.row(of: first.objectID)?["nick"]?.string == "Anna"
        }
        // An instance that does not know the column yet writes the old way; the response contains the value once.
        try await deployment.database.psql(
            "update demo.users set dynamic = dynamic || '{\"nick\": \"stale\"}' where object_id = '\(first.objectID)'"
        )
        let again = try await deployment.loggedIn(visitor)
        #expect(again.user["nick"]?.string == "Anna")
        #expect(again.user.keys.count { $0 == "nick" } == 1)
    }
}
