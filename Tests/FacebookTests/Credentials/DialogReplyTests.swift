import Encodings
import Facebook
import Providers
import Testing

@Suite("What Facebook's dialog says in place of a code, or beside it")
struct DialogReplyTests {
    @Test(
        "a person's no, trouble that passes, and an app that is refused are told apart",
        arguments: [
            ("", nil), ("state=s&code=c", nil), ("error=&error_reason=&error_code=&error_message=", nil),
            ("error=access_denied", .cancelled), ("error=access_denied&error_code=200", .cancelled),
            ("error_reason=user_denied", .cancelled), ("error=server_error", .trouble(code: nil)),
            ("error=temporarily_unavailable&error_code=7", .trouble(code: 7)), ("error_code=2", .trouble(code: 2)),
            ("error_code=901&error_message=x", .app(code: 901)), ("error_message=x", .app(code: nil)),
            ("error_code=&error_message=x", .app(code: nil)), ("error=Access_denied", .app(code: nil)),
            ("error_code=" + String(repeating: "9", count: 400), .app(code: nil)), ("error_code=x", .app(code: nil)),
        ] as [(String, DialogReply.Refusal?)]
    )
    func refusals(query: String, refusal: DialogReply.Refusal?) {
        #expect(DialogReply.refusal(in: DialogAnswer(LenientQuery(query))) == refusal)
    }

    @Test("of the declined permissions those count that are names of permissions")
    func declined() throws {
        func scopes(_ list: String) -> [String]? {
            DialogReply.declinedScopes(in: DialogAnswer(LenientQuery("denied_scopes=" + PercentEncoding.encode(list))))
        }
        let list = "user_birthday,, email <b>,É,\(String(repeating: "a", count: 65))"
        #expect(scopes(list) == ["user_birthday", "email"])
        #expect(scopes("") == [])
        #expect(DialogReply.declinedScopes(in: DialogAnswer(LenientQuery("state=s"))) == nil)
        #expect(try #require(scopes(String(repeating: "a,", count: 1000))).count <= 101)
    }
}
