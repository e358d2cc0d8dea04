import Domain
import Encodings
@testable import Firebase
import HTTPTypes
import Testing

@Suite("Errors as Firebase's clients read them")
struct GoogleErrorTests {
    private func error(_ failure: Failure) throws -> JSONObject {
        var writer = JSONWriter()
        GoogleError().write(failure, requestID: "r", into: &writer)
        let object = try JSONParser.parse(writer.bytes, limits: .stored).object
        return try #require(object?["error"]?.object)
    }

    /// The name that the SDK for the web reads: the message up to ` : `.
    private func name(_ reason: Failure.Reason) throws -> String? {
        try error(Failure(reason, "text"))["message"]?.string?.components(before: " : ")
    }

    @Test("only the end of a session or of an account has a name that logs a user out")
    func namesThatLogOut() throws {
        let leaving = ["TOKEN_EXPIRED", "USER_DISABLED", "USER_NOT_FOUND", "INVALID_ID_TOKEN"]
        for reason in Failure.Reason.allCases {
            let name = try name(reason) ?? ""
            let mayLeave = [.sessionInvalid, .accountDisabled].contains(reason)
            #expect(leaving.contains(name) == mayLeave, "\(reason): \(name)")
        }
    }

    @Test("what may pass has no message: while a page loads, each error with one logs the user out")
    func passing() throws {
        for reason in Failure.Reason.allCases {
            let status = GoogleError().status(of: reason).code
            let error = try error(Failure(reason, "text"))
            #expect((error["message"] == nil) == [500, 503].contains(status), "\(reason)")
            #expect(error["code"]?.integer == Int64(status), "\(reason)")
            let isGeneric = [401, 403, 404, 500, 503].contains(status) || reason == .unknownApplication
            #expect((error["status"] != nil) == isGeneric, "\(reason)")
        }
    }

    @Test("a replaced refresh token is a temporary failure: the page stays, and reads the newest token")
    func replacedToken() throws {
        let failure = Failure(.refreshTokenReplaced, "text")
        #expect(GoogleError().status(of: failure.reason) == .serviceUnavailable)
        #expect(try error(failure) == error(Failure(.overloaded, "text")))
    }

    @Test("a failure has the name of its call, and the members of errors[] are texts")
    func named() throws {
        let failure = Failure(.notFound, "text").named("INVALID_PROVIDER_ID", for: .notFound)
        let error = try error(failure)
        #expect(error["message"]?.string == "INVALID_PROVIDER_ID : text" && error["code"]?.integer == 400)
        let first = try #require(error["errors"]?.array?.first?.object)
        #expect(first.members.allSatisfy { $0.value.string != nil })
        #expect(Failure(.conflict, "text").named("X", for: .notFound).reason == .conflict)
        let key = try self.error(Failure(.unknownApplication, "text"))
        #expect(key["message"]?.string == "API key not valid. Please pass a valid API key.")
    }
}

@Suite("Calls of Firebase's clients")
struct CallFieldsTests {
    @Test("names in both cases, numbers and words in place of texts and flags, and null for an absent member")
    func spellings() throws {
        let fields = CallFields([
            "id_token": .string("t"), "returnSecureToken": .string("true"), "count": .integer(7), "email": .null,
            "flag": .bool(false), "empty": .string(""),
        ])
        #expect(try fields.text("idToken") == "t" && fields.flag("returnSecureToken") == true)
        #expect(try fields.text("count") == "7" && fields.flag("flag") == false)
        #expect(try !fields.has("email") && fields.text("email") == nil && fields.flag("email") == nil)
        #expect(try fields.text("empty") == "" && fields.filled("empty") == nil)
        #expect(throws: Failure.self) { try fields.text("flag") }
        #expect(throws: Failure.self) { try fields.flag("count") }
        #expect(throws: Failure.self) { try fields.texts("count") }
    }

    @Test("providers have the names that clients write, and no other")
    func providers() {
        for (id, name) in [("facebook.com", "facebook"), ("google.com", "google"), ("oidc.staff-sso", "staff-sso")] {
            #expect(ProviderID.provider(id)?.text == name && ProviderID.id(of: name) == id)
        }
        for id in ["facebook", "staff.com", "oidc.", "oidc.A B", "", "password", ".com"] {
            #expect(ProviderID.provider(id) == nil, "\(id)")
        }
        #expect(ProviderID.id(of: "password") == "password")
    }
}

extension String {
    fileprivate func components(before separator: String) -> String {
        ranges(of: separator).first.map { String(self[..<$0.lowerBound]) } ?? self
    }
}
