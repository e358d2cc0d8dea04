/// `/dialog/oauth`: asks who logs in and what they allow, and sends them back to the app with the answer.
extension World {
    mutating func loginDialog(_ request: GraphRequest, now: Int) -> GraphReply {
        do throws(DialogRequest.Refusal) {
            let asked = try DialogRequest(request, world: self)
            if let error = asked.app.dialogError {
                return .redirect(
                    to: asked.callback([("error_code", String(error.code)), ("error_message", error.message)])
                )
            }
            switch request.method {
            case "GET": return .page(DialogPage.choice(asked, people: people), status: 200)
            case "POST": return try conclude(asked, request, now: now)
            default: throw DialogRequest.Refusal(reason: "The dialog answers to GET and POST only.")
            }
        } catch {
            return .page(DialogPage.refusal(error.reason), status: 400)
        }
    }

    /// What the person pressed.
    private mutating func conclude(
        _ asked: DialogRequest,
        _ request: GraphRequest,
        now: Int
    ) throws(DialogRequest.Refusal) -> GraphReply {
        guard let action = request.parameter("action"), ["continue", "cancel"].contains(action.prefix(10)) else {
            throw DialogRequest.Refusal(reason: "Press one of the dialog's buttons.")
        }
        guard action == "continue" else {
            return .redirect(
                to: asked.callback([
                    ("error_reason", "user_denied"), ("error", "access_denied"),
                    ("error_description", "Permissions error"),
                ])
            )
        }
        guard var person = request.parameter("person").flatMap(person) else {
            throw DialogRequest.Refusal(reason: "Choose a person.")
        }
        let ticked = request.parameters.filter { $0.name.utf8.elementsEqual("granted".utf8) }.map(\.value)
        for scope in asked.scopes {
            // What was declined once is not asked again unless the app says so.
            if person.status(of: scope) == .declined, !asked.asksAgain { continue }
            let isGranted =
                !DialogRequest.isOptional(scope) || ticked.contains { $0.utf8.elementsEqual(scope.utf8) }
            person.set(scope, isGranted ? .granted : .declined)
        }
        put(person)
        let granted = asked.scopes.filter { person.status(of: $0) == .granted }
        let code: String
        do {
            code = try self.code(
                CodeRequest(
                    person: person.key,
                    app: asked.app.id,
                    redirectURI: asked.redirectURI,
                    scopes: granted,
                    nonce: asked.nonce,
                    codeChallenge: asked.challenge,
                    codeChallengeMethod: asked.challengeMethod
                ),
                metadata: asked.tokenMetadata,
                now: now
            )
        } catch {
            throw DialogRequest.Refusal(reason: error.description)
        }
        var answer = [(name: "code", value: code)]
        if asked.returnsScopes {
            let denied = asked.scopes.filter { !granted.contains($0) }
            answer.append(("granted_scopes", granted.joined(separator: ",")))
            answer.append(("denied_scopes", denied.joined(separator: ",")))
        }
        return .redirect(to: asked.callback(answer, fragment: "#_=_"))
    }
}

extension GraphReply {
    fileprivate static func redirect(to location: String) -> GraphReply {
        var reply = GraphReply(status: 302, headers: [("Location", location)], bytes: [])
        reply.isWebsite = true
        return reply
    }

    fileprivate static func page(_ html: String, status: Int) -> GraphReply {
        var reply = GraphReply(
            status: status,
            headers: [
                ("Content-Type", "text/html; charset=utf-8"),
                ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"),
                ("X-Frame-Options", "DENY"), ("X-Content-Type-Options", "nosniff"),
            ],
            bytes: Array(html.utf8)
        )
        reply.isWebsite = true
        return reply
    }
}
