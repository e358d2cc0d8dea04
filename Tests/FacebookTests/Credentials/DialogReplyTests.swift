import Testing
import Facebook

@Suite("What Facebook's dialog says in place of a code, or beside it")
struct DialogReplyTests {
    @Test(
        "a person's no, trouble that passes, and an app that is refused are told apart",
        arguments: [
            (nil, nil, nil, nil), ("access_denied", nil, nil, .cancelled), ("access_denied", nil, "200", .cancelled),
            (nil, "user_denied", nil, .cancelled), ("server_error", nil, nil, .trouble(code: nil)),
            ("temporarily_unavailable", nil, "7", .trouble(code: 7)), (nil, nil, "2", .trouble(code: 2)),
            (nil, nil, "901", .app(code: 901)), (nil, nil, "", .app(code: nil)),
            ("Access_denied", nil, nil, .app(code: nil)),
            (nil, nil, String(repeating: "9", count: 400), .app(code: nil)), (nil, nil, "x", .app(code: nil)),
        ] as [(String?, String?, String?, DialogReply.Refusal?)]
    )
    func refusals(error: String?, reason: String?, code: String?, refusal: DialogReply.Refusal?) {
        #expect(DialogReply.refusal(error: error, reason: reason, code: code) == refusal)
    }

    @Test("of the declined permissions those count that are names of permissions")
    func declined() {
        let list = "user_birthday,, email <b>,É,\(String(repeating: "a", count: 65))"
        #expect(DialogReply.declinedScopes(in: list) == ["user_birthday", "email"])
        #expect(DialogReply.declinedScopes(in: "") == [])
        #expect(DialogReply.declinedScopes(in: String(repeating: "a,", count: 1000)).count <= 101)
    }
}
