import Providers
import SignedTokens
package import Vocabulary

/// The options of logins with Facebook but the secret ones: members of `providers.facebook` in an application document,
/// and how they are stored.
package enum FacebookOptionsDocument {
    /// Reads options; what is absent keeps its default, and secret ones are passed over, as are those that only a later
    /// version knows.
    ///
    /// - Throws: `DocumentProblems` with every problem, by its place in the options.
    package static func parse(_ document: JSONValue) throws(DocumentProblems) -> FacebookOptions {
        let place = JSONPointer()
        guard let object = document.object else { throw DocumentProblems(place, "must be an object") }
        var problems = DocumentProblems()
        let options = read(object, at: place, problems: &problems)
        guard problems.isEmpty else { throw problems }
        return options
    }

    /// The options as they are stored and shown: all of them.
    package static func document(of options: FacebookOptions) -> JSONValue {
        .object(
            JSONObject(Name.allCases.map { JSONObject.Member($0.rawValue, value(of: $0, in: options)) })
        )
    }

    package static let names = Name.allCases.map(\.rawValue)

    static let graphVersion = Name.graphVersion.rawValue

    /// Reads the options among the members of an object; the others are not looked at.
    static func read(
        _ object: JSONObject,
        at place: JSONPointer,
        problems: inout DocumentProblems
    ) -> FacebookOptions {
        var options = FacebookOptions()
        for name in Name.allCases {
            guard let value = object[name.rawValue] else { continue }
            take(value, of: name, at: place / name.rawValue, into: &options, problems: &problems)
        }
        return options
    }

    /// The members by their names.
    package enum Name: String, CaseIterable, Sendable {
        case graphVersion, proof, pkce, nonce, idTokenSeconds
        case redirectURIs = "redirectUris"
        case returnURLs = "returnUrls"
        case permissions, keepTokens, longLivedTokens, returnTokens, endSessionsWhenRevoked, refreshHours
        case eraseAfterDays
    }

    private static func value(of name: Name, in options: FacebookOptions) -> JSONValue {
        switch name {
        case .graphVersion: .string(options.graphVersion)
        case .proof: .string(options.proof.rawValue)
        case .pkce: .string(options.pkce.rawValue)
        case .nonce: .string(options.nonce.rawValue)
        case .idTokenSeconds: .integer(options.idTokenSeconds)
        case .redirectURIs: .array(options.redirectURIs.map(JSONValue.string))
        case .returnURLs: .array(options.returnURLs.map(JSONValue.string))
        case .permissions: .array(options.permissions.map(JSONValue.string))
        case .keepTokens: .bool(options.keepTokens)
        case .longLivedTokens: .bool(options.longLivedTokens)
        case .returnTokens: .bool(options.returnTokens)
        case .endSessionsWhenRevoked: .bool(options.endSessionsWhenRevoked)
        case .refreshHours: options.refreshHours.map(JSONValue.integer) ?? .null
        case .eraseAfterDays: .integer(options.eraseAfterDays)
        }
    }

    private static func take(
        _ value: JSONValue,
        of name: Name,
        at place: JSONPointer,
        into options: inout FacebookOptions,
        problems: inout DocumentProblems
    ) {
        switch name {
        case .graphVersion:
            guard let text = value.string, GraphVersions.isVersion(text) else {
                problems.add(place, "must look like v25.0")
                return
            }
            options.graphVersion = text
        case .proof: problems.take(value, at: place, into: &options.proof)
        case .pkce: problems.take(value, at: place, into: &options.pkce)
        case .nonce: problems.take(value, at: place, into: &options.nonce)
        case .idTokenSeconds: problems.take(value, at: place, into: &options.idTokenSeconds, 60...3600, "seconds")
        case .redirectURIs:
            options.redirectURIs = problems.texts(value, at: place, most: mostAddresses, RedirectTarget.problem)
        case .returnURLs:
            options.returnURLs = problems.texts(value, at: place, most: mostAddresses, RedirectTarget.problem)
        case .permissions:
            options.permissions = problems.texts(value, at: place, most: mostPermissions) { text in
                PermissionName.isValid(text) ? nil : "must be the name of a permission, \(PermissionName.form)"
            }
        case .keepTokens: problems.take(value, at: place, into: &options.keepTokens)
        case .longLivedTokens: problems.take(value, at: place, into: &options.longLivedTokens)
        case .returnTokens: problems.take(value, at: place, into: &options.returnTokens)
        case .endSessionsWhenRevoked: problems.take(value, at: place, into: &options.endSessionsWhenRevoked)
        case .refreshHours:
            guard !value.isNull else { return }
            var hours: Int64 = 0
            problems.take(value, at: place, into: &hours, 1...8760, "hours")
            options.refreshHours = hours
        case .eraseAfterDays: problems.take(value, at: place, into: &options.eraseAfterDays, 0...30, "days")
        }
    }

    private static let mostAddresses = 20
    private static let mostPermissions = 50
}
