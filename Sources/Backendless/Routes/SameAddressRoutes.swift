import Description
import Domain
import Encodings
import HTTP
import Hummingbird
import Logins
import PublicAPI

/// The routes that finish a first login by a provider whose e-mail address an account has (`account_exists`).
struct SameAddressRoutes {
    let sameAddressLogins: SameAddressLogins

    func mountMail(on routes: ApplicationRoutes) {
        routes.on(.post, "users/sameAddress/start", .startSameAddress) { request, context, application in
            let body = try await FactorBody.read(request)
            let (sentTo, expires) = try await sameAddressLogins.mailCode(
                for: try body.text("pending") ?? "",
                by: context.apiKey?.label,
                from: context.source,
                in: application
            )
            var writer = JSONWriter(capacity: 128)
            writer.object { writer in
                if let sentTo { writer.member("sentTo", sentTo) }
                writer.member("expires", expires)
            }
            return .json(writer)
        }
    }

    func mountFinish(on routes: ApplicationRoutes) {
        routes.on(.post, "users/sameAddress/finish", .finishSameAddress) { request, context, application in
            let body = try await FactorBody.read(request)
            let answer = SameAddressAnswer(
                pending: try body.text("pending") ?? "",
                choice: try Self.choice(in: body, of: request),
                idempotencyKey: try request.idempotencyKey(of: body),
                keyLabel: context.apiKey?.label,
                source: context.source
            )
            return .signedIn(
                try await sameAddressLogins.finish(answer, in: application, logger: context.logger)
            )
        }
    }

    private static func choice(
        in body: JSONObject,
        of request: Request
    ) throws(Failure) -> SameAddressAnswer.Choice {
        let (code, isSeparate) = (try body.code, try body.flag("separate"))
        switch (code, isSeparate) {
        case (let code?, false): return .code(code, keepsIdentities: try body.flag("keepIdentities"))
        case (nil, true): return .separate
        case (nil, false):
            guard let token = request.userToken else {
                throw Failure(
                    .malformedRequest,
                    "Send the session of the account as user-token; or code, from the mail; or separate: true."
                )
            }
            return .session(token)
        case (_?, true): throw Failure(.malformedRequest, "Send either code or separate, not both.")
        }
    }
}

extension Operation {
    fileprivate static let startSameAddress = Operation(
        "startSameAddress",
        under: "login",
        "Mails a code to the account that has the address of a login.",
        more: "After account_exists, for a user who cannot log in to the account in another way.",
        body: Content(.anyObject.adding(["pending": .pendingLogin])),
        .success(
            "The masked address, and the expiry of the code.",
            .object(["expires": .moment], optional: ["sentTo": .string])
        ),
        or: [.badRequest]
    )

    fileprivate static let finishSameAddress = Operation(
        "finishSameAddress",
        under: "login",
        "Finishes a login whose address an account has.",
        more: """
            After account_exists. With the session of the account in the header user-token, at most five minutes \
            after its login: links the login's identity to the account, whose session stays. With code: the same, and \
            opens a session; the account's second factor may still be required. With separate: creates a user of its \
            own.
            """,
        marks: .mayHaveSession,
        parameters: [.idempotencyKey],
        body: Content(
            .anyObject.adding(
                ["pending": .pendingLogin],
                optional: [
                    "code": .string.described("The code from the mail. A number is also accepted."),
                    "keepIdentities": .boolean.nullable.described(
                        """
                        With code: that the identities of the account are the user's own. Otherwise an account whose \
                        address was not confirmed loses them.
                        """
                    ),
                    "separate": .boolean.nullable.described("That the user wants an account of its own."),
                ]
            )
        ),
        .signedIn,
        or: [.forbidden, .conflict, .unprocessable, .timeout]
    )
}

extension Schema {
    fileprivate static let pendingLogin = string.described("errorData.pending of account_exists.")
}
