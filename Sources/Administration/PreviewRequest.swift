import Description
import Domain
import Encodings
import Mapping
import Store

/// An operator's request to see what a mapping would write for a profile, without writing it.
struct PreviewRequest {
    /// Where the profile for the preview comes from.
    enum Source {
        /// A profile in the request. The scopes are nil if they are unknown.
        case profile(JSONObject, scopes: [String]?)
        /// A credential. The provider verifies the credential and returns the profile.
        case credential(CredentialFields, appID: String?)
    }

    let source: Source
    /// A mapping that the preview uses in place of the stored one, as a list or as a dictionary; nil for the stored
    /// one.
    let mapping: JSONValue?
    /// The mapping that a client would send with the login; nil if it would send none.
    let clientMapping: JSONValue?
    /// The objectId of an existing user, as received.
    let user: String?

    /// Whether the preview shows data of a real user at the provider: true if the request has a credential.
    var isOfPerson: Bool {
        if case .credential = source { true } else { false }
    }

    /// Reads an operator's request for the preview of a mapping.
    ///
    /// - Throws: All problems, each with its position in the request.
    init(_ document: JSONValue) throws(DocumentProblems) {
        var reader = DocumentReader(origin: .request)
        let place = JSONPointer()
        let known = [
            "profile", "scopes", "accessToken", "accessTokenSecret", "appId", "mapping", "fieldsMapping", "user",
        ]
        guard let object = reader.object(document, at: place, known: known) else { throw reader.problems }
        let token = reader.text(object.present("accessToken"), at: place / "accessToken")
        let tokenSecret = reader.text(object.present("accessTokenSecret"), at: place / "accessTokenSecret")
        let appID = reader.text(object.present("appId"), at: place / "appId")
        let profile = object.present("profile")
        let scopes = reader.scopes(object.present("scopes"), at: place / "scopes")
        if (profile == nil) == (object.present("accessToken") == nil) {
            reader.problems.add(place, "must contain either a profile or an accessToken")
        }
        if let profile, profile.object == nil {
            reader.problems.add(place / "profile", "must be an object: a profile as the provider sends it")
        }
        if profile == nil, scopes != nil {
            reader.problems.add(place / "scopes", "is only for a profile; the provider reports those of a token")
        }
        for (name, value) in [("appId", appID), ("accessTokenSecret", tokenSecret)] where profile != nil && value != nil
        {
            reader.problems.add(place / name, "is only for an accessToken")
        }
        mapping = object.present("mapping")
        clientMapping = reader.clientMapping(object.present("fieldsMapping"), at: place / "fieldsMapping")
        user = reader.text(object.present("user"), at: place / "user")
        try reader.check()
        if let profile = profile?.object {
            source = .profile(profile, scopes: scopes)
        } else {
            source = .credential(
                CredentialFields(accessToken: token ?? "", accessTokenSecret: tokenSecret),
                appID: appID
            )
        }
    }
}

extension DocumentReader {
    fileprivate mutating func scopes(_ value: JSONValue?, at place: JSONPointer) -> [String]? {
        guard let value else { return nil }
        let texts = value.array?.compactMap(\.string)
        guard let texts, texts.count == value.array?.count, texts.count <= 100 else {
            problems.add(place, "must be a list of at most 100 texts, the granted permissions")
            return nil
        }
        return texts
    }

    /// Reads the mapping that a client would send with a login.
    ///
    /// The mapping may be a JSON value, or a text that contains JSON.
    fileprivate mutating func clientMapping(_ value: JSONValue?, at place: JSONPointer) -> JSONValue? {
        guard let text = value?.string else { return value }
        do throws(JSONError) { return try JSONParser.parse(text, limits: .request) } catch {
            problems.add(place, "is a text that must contain a JSON object: \(error)")
            return nil
        }
    }
}
