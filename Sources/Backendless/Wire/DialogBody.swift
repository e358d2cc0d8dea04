import Applications
import HTTP
import Logins
import Providers
import Vocabulary

/// The body of a request for the dialog's address, in every spelling that client SDKs use
/// (docs/protocols/backendless.md §2.4).
struct DialogBody {
    let dialog: DialogRequest
    /// Under which host name the provider shall send the browser back.
    let callbackURLDomain: String?
    /// Whether the browser is to be sent to the dialog at once.
    let redirect: Bool

    private static let mostPermissions = 50

    /// Reads a body; none at all is an empty object, and so is `null`, which JS SDK 3 sends for an app that asks for
    /// nothing.
    ///
    /// `null` is absence, and so is an empty text. A member that is not known is an error, since what it asks for would
    /// not happen.
    ///
    /// - Throws: `malformed_request` or `payload_too_large`.
    init(_ bytes: [UInt8]?, origin: String?) throws(Failure) {
        let value =
            try bytes.map { bytes throws(Failure) in try JSONParser.parse(body: bytes, limits: .request) } ?? .null
        let body = value.isNull ? JSONObject() : try JSONObject(body: value)
        try Self.refuseUnknown(in: body)
        var dialog = DialogRequest()
        dialog.mapping = try LoginBody.mapping(in: body)
        dialog.wishes.permissions = try Self.permissions(in: body)
        dialog.wishes.authType = try Self.authType(in: body)
        dialog.appID = try Self.text("appId", in: body)
        dialog.redirectAfterLoginURL = try Self.text("redirectAfterLoginUrl", in: body)
        callbackURLDomain = try Self.text("callbackUrlDomain", in: body)
        dialog.codeChallenge = try Self.codeChallenge(in: body)
        dialog.wishes.configID = try Self.text("configId", in: body)
        dialog.isForLinking = try Self.flag("linking", in: body)
        dialog.invitation = try Self.text("invitation", in: body).map { InvitationToken($0) }
        dialog.origin = origin
        self.dialog = dialog
        redirect = try Self.flag("redirect", in: body)
    }

    private static let known = [
        "fieldsMapping", "fieldsMappings", "permissions", "authType", "configId", "redirectAfterLoginUrl",
        "codeChallenge",
        "codeChallengeMethod", "redirect", "callbackUrlDomain", "appId", "linking", "invitation",
        "contentType",
    ]

    /// Names of members that a message repeats; a name has at most 128 bytes of ASCII.
    private static let mostNamed = 5

    private static func refuseUnknown(in body: JSONObject) throws(Failure) {
        let unknown = body.members.map(\.key).filter { key in !known.contains { $0.hasSameBytes(as: key) } }
        guard !unknown.isEmpty else { return }
        throw Failure(
            .malformedRequest,
            """
            Not known here: \(unknown.prefix(mostNamed).joined(separator: ", "))\
            \(unknown.first.map { NearestName.hint(for: $0, among: known) } ?? ""). Leave them out; known are \
            \(known.joined(separator: ", ")).
            """
        )
    }

    private static func text(_ key: String, in body: JSONObject) throws(Failure) -> String? {
        guard let text = try body.text(key), !text.utf8.isEmpty else { return nil }
        return text
    }

    private static func flag(_ key: String, in body: JSONObject) throws(Failure) -> Bool {
        guard let value = body.present(key) else { return false }
        guard let flag = value.bool else {
            throw Failure(.malformedRequest, "\(key) must be true or false, it is \(value.kind).")
        }
        return flag
    }

    /// A list of texts, or a text with commas or spaces between them.
    private static func permissions(in body: JSONObject) throws(Failure) -> [String]? {
        guard let value = body.present("permissions") else { return nil }
        let names: [Substring]
        if let text = value.string {
            names = text.utf8.split(maxSplits: mostPermissions) { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
                .map { Substring($0) }
        } else if let texts = value.array?.map(\.string), !texts.contains(nil) {
            names = texts.compactMap { $0?[...] }
        } else {
            throw Failure(
                .malformedRequest,
                "permissions must be a text with commas or spaces between the names, or an array of texts."
            )
        }
        guard names.count <= mostPermissions, names.allSatisfy({ !$0.utf8.isEmpty }) else {
            throw Failure(
                .malformedRequest,
                "permissions must be at most \(mostPermissions) names, none of them empty."
            )
        }
        return names.isEmpty ? nil : names.map(String.init)
    }

    private static func authType(in body: JSONObject) throws(Failure) -> DialogAuthType? {
        guard let text = try text("authType", in: body) else { return nil }
        guard let type = DialogAuthType.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) else {
            let types = DialogAuthType.allCases.map(\.rawValue).joined(separator: ", ")
            throw Failure(.malformedRequest, "authType must be one of \(types).")
        }
        return type
    }

    /// S256 alone: with `plain`, whoever sees the challenge has the verifier (RFC 9700 §2.1.1).
    private static func codeChallenge(in body: JSONObject) throws(Failure) -> String? {
        let challenge = try text("codeChallenge", in: body)
        if let method = try text("codeChallengeMethod", in: body) {
            guard method.hasSameBytes(as: "S256") else {
                throw Failure(.malformedRequest, "codeChallengeMethod must be S256.")
            }
            guard challenge != nil else {
                throw Failure(.malformedRequest, "codeChallengeMethod is there without a codeChallenge.")
            }
        }
        guard let challenge else { return nil }
        guard challenge.utf8.count == 43, challenge.utf8.allSatisfy(Base64URL.isCharacter) else {
            throw Failure(
                .malformedRequest,
                "codeChallenge must be the SHA-256 of the verifier as 43 characters of base64url."
            )
        }
        return challenge
    }
}
