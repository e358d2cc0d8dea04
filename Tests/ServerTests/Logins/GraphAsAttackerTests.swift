import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "Graph's replies are not trusted",
    .serialized,
    .deployed(
        Document(
            properties: #"{"age": {"type": "INT"}, "avatar": {"type": "TEXT"}}"#,
            mapping: """
                [{"from": "email", "to": "email"}, {"from": "name", "to": "name"}, {"from": "age_range.min", "to": "age"},
                 {"from": "picture.data.url", "to": "avatar"}]
                """
        )
    )
)
struct GraphAsAttackerTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("T-58: of a profile only the fields that were asked for are taken, whatever else is in it")
    func extraFields() async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        let fault = """
            {"effect": "merge", "path": "me", "json": {"userStatus": "DISABLED", "user_status": "DISABLED", "roles": ["admin"],
             "objectId": "00000000-0000-0000-0000-000000000000", "email_verified": true, "password": "x", "picture.data.url": "x",
             "users.password": "x", "code": 1, "message": "x", "extra": {"id": "42"}}}
            """
        let signedIn = try await deployment.simulator.withFault(fault) { try await deployment.loggedIn(visitor) }
        let row = try #require(try await deployment.row(of: signedIn.objectID))
        #expect(row["user_status"]?.string == "ENABLED")
        #expect(row["email_verified"]?.bool == false)
        #expect(row["dynamic"] == .object([:]))
        #expect(row["avatar"]?.string?.hasPrefix("http") == true, "a key with dots is no path")
        #expect(row["email"]?.string == "ann.canary@example.com")
        for key in ["roles", "password", "email_verified", "code", "message", "extra"] {
            #expect(signedIn.user[key] == nil)
        }
    }

    @Test("T-58: a profile whose values have the wrong types is refused as a whole")
    func wrongTypes() async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        try await deployment.expectNothingWritten {
            for patch in [
                #"{"name": {"first": "Ann"}}"#, #"{"name": ["Ann"]}"#, #"{"age_range": {"min": "many"}}"#,
                #"{"age_range": {"min": 1.5}}"#,
            ] {
                let fault = #"{"effect": "merge", "path": "me", "json": \#(patch)}"#
                try await deployment.simulator.withFault(fault) {
                    let reply = try await deployment.login(visitor)
                    try expectProblem(reply, oneOf: ["value_not_convertible", "provider_bad_reply"], "\(patch)")
                    #expect(!reply.text.contains("many"), "no value in the reply")
                }
            }
        }
    }

    @Test("T-58: replies that are no answers are refused as a whole", arguments: ["debug_token", "me"])
    func malformed(path: String) async throws {
        let visitor = try await deployment.newcomer(#"{"name": "Ann", "email": "ann.canary@example.com"}"#)
        try await deployment.expectNothingWritten {
            // Graph may write an id as a number, so only the other values of such a profile are wrong.
            let wrongTypes = path == "me" ? [] : [#""wrongTypes""#]
            for effect in wrongTypes + [
                #""dataNull""#, #""duplicateKeys""#, #""idMissing""#, #""extraKeys", "keys": 20000"#,
                #""deep", "depth": 10000"#, #""truncated""#, #""empty""#, #""false""#,
            ] {
                try await deployment.simulator.withFault(#"{"effect": \#(effect), "path": "\#(path)"}"#) {
                    try expectProblem(try await deployment.login(visitor), "provider_bad_reply", "\(effect) of \(path)")
                }
            }
        }
    }

    @Test(
        "T-40: ids that are no texts or integers, stand for nobody, or that only a loose comparison takes for equal are refused"
    )
    func looseIDs() async throws {
        let visitor = try await deployment.newcomer()
        try await deployment.expectNothingWritten {
            for id in [
                "\(visitor.id)0000000000", "\(visitor.id).0", "0", #""0""#, #""00""#, #""0\#(visitor.id)""#,
                #""\#(visitor.id) ""#,
                #""+\#(visitor.id)""#,
                #""\#(visitor.id).0""#, #""""#, "null", #""٣""#, "1e16", "true", "-1",
            ] {
                for (path, json) in [("me", #"{"id": \#(id)}"#), ("debug_token", #"{"data": {"user_id": \#(id)}}"#)] {
                    let fault = #"{"effect": "merge", "path": "\#(path)", "json": \#(json)}"#
                    try await deployment.simulator.withFault(fault) {
                        let reply = try await deployment.login(visitor)
                        try expectProblem(
                            reply,
                            oneOf: ["credential_invalid", "provider_bad_reply"],
                            "\(id) in \(path)"
                        )
                    }
                }
            }
        }
    }

    @Test(
        "T-100: a huge, deep or endless reply is cut off: an error, and neither time nor memory to speak of",
        arguments: ["me", "debug_token"]
    )
    func hugeReplies(path: String) async throws {
        let visitor = try await deployment.newcomer()
        _ = try await deployment.loggedIn(visitor)
        let before = try deployment.service.process.usage()
        let effects = [
            #""effect": "huge""#, #""effect": "gzipBomb""#, #""effect": "endless""#,
            #""effect": "deep", "depth": 1000000"#,
            #""effect": "huge", "bytes": 262200"#, #""effect": "false""#,
        ]
        try await deployment.expectNothingWritten {
            for effect in effects {
                try await deployment.simulator.withFault(#"{\#(effect), "path": "\#(path)"}"#) {
                    let began = try deployment.service.process.usage().processorTime
                    let reply = try await deployment.login(visitor)
                    // The promise is 3 s; this is a debug build. The waiting time is bounded by the limit of a call.
                    let time = try deployment.service.process.usage().processorTime - began
                    #expect(time < .seconds(4), "\(effect): \(time)")
                    try expectProblem(reply, oneOf: ["provider_bad_reply", "provider_timeout"], "\(effect)")
                }
            }
        }
        let after = try deployment.service.process.usage()
        #expect(after.peakResidentBytes - before.peakResidentBytes < 16 << 20, "a debug build; the release has 8 MB")
    }
}
