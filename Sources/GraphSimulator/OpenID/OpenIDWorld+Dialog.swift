extension OpenIDWorld {
    /// Answers an issuer's dialog at once, for the user of the issuer.
    mutating func authorize(_ call: IssuerCall) throws(OAuthError) -> GraphReply {
        let issuer = call.issuer
        let asked = try DialogParameters(call.request, clients: issuer.clients)
        let isByForm = try Self.isAnsweredByForm(asked, call)
        var answer: [(name: String, value: String)] = []
        if call.namesItselfInTheDialog { answer.append(("iss", call.identifier)) }
        if issuer.refuses {
            answer.append(("error", issuer.answersByForm ? "user_cancelled_authorize" : "access_denied"))
        } else {
            let grant = grants.grant(
                to: asked.client,
                at: issuer.server,
                user: issuer.userClaims,
                scopes: asked.scopes,
                nonce: call.request.parameter("nonce"),
                isOfDialog: true
            )
            let code = grants.code(
                of: grant,
                redirectURI: asked.redirectURI,
                challenge: asked.challenge,
                now: call.now
            )
            answer.append(("code", code))
            if grants.isFirstAuthorization(grant), issuer.answersByForm, isByForm, let user = issuer.firstUser {
                answer.append(("user", user.plainText))
            }
        }
        return isByForm ? FormPost.reply(asked.answer(answer), to: asked.redirectURI) : asked.callback(answer)
    }

    /// Checks the scopes and `response_mode`, and returns whether the answer comes by a form.
    private static func isAnsweredByForm(
        _ asked: DialogParameters,
        _ call: IssuerCall
    ) throws(OAuthError) -> Bool {
        let mode = call.request.parameter("response_mode") ?? "query"
        guard mode == "query" || mode == "form_post" else { throw .invalidRequest("response_mode is unknown") }
        if !call.issuer.answersByForm {
            guard asked.scopes.contains("openid") else { throw .invalidRequest("scope lacks openid") }
        } else if mode != "form_post", asked.scopes.contains(where: { $0 == "name" || $0 == "email" }) {
            throw .invalidRequest("response_mode must be form_post when name or email scope is requested")
        }
        return mode == "form_post"
    }

    /// Ends the user's session at an issuer, which keeps none: redirects to where the client wishes.
    func logout(_ call: IssuerCall) -> GraphReply {
        guard let url = call.request.parameter("post_logout_redirect_uri") else {
            return FormPost.page(DialogPage.page(title: "Logged out", body: ""))
        }
        let state = call.request.parameter("state").map { [(name: "state", value: $0)] } ?? []
        let separator = state.isEmpty ? "" : url.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return .redirect(to: url + separator + FormEncoding.encode(state))
    }
}

/// The answer of a dialog by `response_mode=form_post`: a page whose form submits itself to the client.
enum FormPost {
    static func reply(_ parameters: [(name: String, value: String)], to url: String) -> GraphReply {
        let inputs = parameters.map { parameter in
            """
            <input type="hidden" name="\(DialogPage.escaped(parameter.name))" \
            value="\(DialogPage.escaped(parameter.value))">
            """
        }
        return page(
            DialogPage.page(
                title: "Back to the app",
                body: """
                    <form method="post" action="\(DialogPage.escaped(url))">
                    \(inputs.joined(separator: "\n"))
                    <button type="submit">Continue</button>
                    </form>
                    <script>document.forms[0].submit()</script>
                    """
            )
        )
    }

    /// Makes a response with an HTML page, whose scripts may run.
    static func page(_ html: String) -> GraphReply {
        GraphReply(
            status: 200,
            headers: [("Content-Type", "text/html; charset=utf-8")],
            bytes: Array(html.utf8),
            origin: .website
        )
    }
}
