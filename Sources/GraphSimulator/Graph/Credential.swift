/// What a token's text turns out to be.
enum Credential {
    /// An app token: `id|secret`, or the one that `client_credentials` gives.
    case app(App)
    /// A token that the simulator issued, with its app; it may have ended since.
    case issued(Token, App)
}

extension World {
    /// Decodes a token's text, without asking whether the session behind it still lives.
    func credential(_ text: String) throws(GraphError) -> Credential {
        if let bar = text.utf8.firstIndex(of: UInt8(ascii: "|")) {
            guard let app = app(String(text[..<bar])) else { throw .applicationUnavailable }
            let rest = text[text.utf8.index(after: bar)...]
            guard rest.utf8.elementsEqual(app.secret.utf8) || text.utf8.elementsEqual(TokenText.app(app).utf8) else {
                throw .badTokenSignature
            }
            return .app(app)
        }
        if let token = token(text) {
            switch token.kind {
            case .undecodable: throw .unparsableToken
            case .undecryptable: throw .undecryptableToken
            case .debugOnly: throw .debugOnlyToken
            default:
                guard let app = app(token.app) else { throw .applicationUnavailable }
                return .issued(token, app)
            }
        }
        if Self.looksLikeJWT(text) { throw .badSignature }
        throw text.utf8.starts(with: "EAA".utf8) ? .undecryptableToken : .unparsableToken
    }

    /// Why the session behind a token is over; `nil` while it lives.
    func end(of token: Token, now: Int) -> GraphError? {
        func ended(_ subcode: Int?, _ reason: String) -> GraphError {
            GraphError(code: 190, subcode: subcode, message: "Error validating access token: \(reason)")
        }
        switch token.kind {
        case .passwordChanged:
            return ended(
                460,
                "The session has been invalidated because the user changed their password or Facebook has changed the "
                    + "session for security reasons."
            )
        case .appRemoved: return ended(458, "The user has not authorized application \(token.app).")
        case .invalidated: return ended(466, "The session was invalidated explicitly using an API call.")
        case .loggedOut: return ended(467, "The session is invalid because the user logged out.")
        case .checkpointed:
            return ended(
                459,
                "You cannot access the app till you log in to www.facebook.com and follow the instructions given."
            )
        case .unconfirmed:
            return ended(464, "Sessions for the user are not allowed because the user is not a confirmed user.")
        case .malformed: return ended(nil, "Session key is malformed.")
        case .app: return nil
        case .short, .long, .never, .expired, .otherApp, .page, .systemUser, .dataAccessExpired, .undecodable,
            .undecryptable, .debugOnly:
            if token.expiresAt != 0, now >= token.expiresAt {
                return ended(
                    463,
                    "Session has expired on \(CalendarText.pacific(token.expiresAt)). The current time is "
                        + "\(CalendarText.pacific(now))."
                )
            }
            if token.person.flatMap(person) != nil { return nil }
            return ended(458, "The user has not authorized application \(token.app).")
        }
    }

    private static func looksLikeJWT(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 3 && parts[0].starts(with: "eyJ".utf8)
    }
}
