import Encodings
@testable import ServerTestSupport
import Testing
import TestSupport

@Suite(
    "A client's own mapping, right and wrong",
    .serialized,
    .deployed(
        Document(
            properties: """
                {"nick": {"type": "STRING", "clientMappable": true}, "score": {"type": "INT", "clientMappable": true}}
                """,
            mapping: #"{"email": "email"}"#
        ),
        Document(application: "stubborn", settings: #"{"clientMapping": false}"#)
    )
)
struct ClientMappingTests {
    let deployment: Deployment

    init() throws { deployment = try Deployment.current }

    @Test("unknown properties and reserved words in a mapping are told from unknown Facebook fields")
    func mappingTargets() async throws {
        let ann = try await deployment.newcomer()
        try await deployment.expectNothingWritten {
            let unknown = try expectProblem(
                try await deployment.login(ann, mapping: #"{"name": "unknownProperty"}"#),
                "mapping_target_not_allowed"
            )
            #expect(unknown["entry"]?.object?["to"]?.string == "unknownProperty")
            try expectProblem(
                try await deployment.login(ann, mapping: #"{"name": "objectId"}"#),
                "mapping_target_not_allowed"
            )
            let field = try expectProblem(
                try await deployment.login(ann, mapping: #"{"no_such_field": "nick"}"#),
                "mapping_invalid"
            )
            #expect(field["entry"]?.object?["from"]?.string == "no_such_field")
        }
    }

    @Test("a value that does not fit its column is refused, and not repeated")
    func unfittingValues() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann Canary", "first_name": "9223372036854775808"}"#)
        try await deployment.expectNothingWritten {
            for field in ["name", "first_name"] {
                let reply = try await deployment.login(ann, mapping: #"{"\#(field)": "score"}"#)
                let data = try expectProblem(reply, "value_not_convertible")
                #expect(data["entry"]?.object?["to"]?.string == "score")
                #expect(!reply.text.contains("Ann") && !reply.text.contains("922337"))
            }
        }
        // A value that cannot be stored does not prevent the login.
        let nul = #"{"effect": "merge", "path": "me", "json": {"name": "a\u0000b"}}"#
        try await deployment.simulator.withFault(nul) {
            let signedIn = try await deployment.loggedIn(ann, mapping: #"{"name": "nick"}"#)
            #expect(signedIn.user["nick"]?.isNull == true)
        }
    }

    @Test("both spellings of the mapping: the same content is one, different content is malformed")
    func twoMappings() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let same = #""fieldsMapping": {"name": "nick"}, "fieldsMappings": "{\"name\": \"nick\"}""#
        let reply = try await deployment.login(body: #"{"accessToken": "\#(ann.token)", \#(same)}"#)
        #expect(try deployment.signedIn(reply).user["nick"]?.string == "Ann")
        let different = #""fieldsMapping": {"name": "nick"}, "fieldsMappings": {"id": "nick"}"#
        try await deployment.expectNothingWritten {
            let reply = try await deployment.login(body: #"{"accessToken": "\#(ann.token)", \#(different)}"#)
            try expectProblem(reply, "malformed_request")
        }
    }

    @Test("a mapping that comes as a text passes the same gate")
    func mappingAsText() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let signedIn = try await deployment.loggedIn(ann, mapping: #""{\"name\": \"nick\"}""#)
        #expect(signedIn.user["nick"]?.string == "Ann")
        let texts = [
            #""""#, #""{""#, #""nick""#, #""{\"name\": \"nick\",}""#, #""{\"name\": \"nick\"} x""#,
            #""{\"na\u0301me\": \"nick\"}""#,
        ]
        try await deployment.expectNothingWritten {
            for text in texts {
                let reply = try await deployment.login(ann, mapping: text)
                try expectProblem(reply, oneOf: ["malformed_request", "mapping_invalid"], "\(text)")
            }
        }
    }

    @Test("unknown members are ignored, and null is absence")
    func leniency() async throws {
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        let body = """
            {"accessToken": "\(ann.token)", "idToken": null, "code": null, "nonce": null, "redirectUri": null, "appId": null,
             "fieldsMapping": null, "fieldsMappings": {"name": "nick"}, "guestUser": null,
             "permissions": [], "stayLoggedIn": true, "x": {"y": [1, 2.5e3, null, "z"]}}
            """
        #expect(try deployment.signedIn(try await deployment.login(body: body)).user["nick"]?.string == "Ann")
    }

    @Test("with client mapping switched off, a client's mapping is ignored, even one that would be refused")
    func clientMappingOff() async throws {
        let stubborn = deployment.documents[1]
        let ann = try await deployment.newcomer(#"{"name": "Ann"}"#)
        for mapping in [#"{"name": "name"}"#, #"{"name": "objectId"}"#, #"{"": 7}"#, "7"] {
            #expect(try await deployment.loggedIn(ann, mapping: mapping, to: stubborn).user["name"] == .null)
        }
    }
}
