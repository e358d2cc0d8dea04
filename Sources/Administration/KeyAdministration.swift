import Description
package import Domain
package import Encodings
import Secrets
import Store

/// Lists, creates, relabels and revokes the API keys of an application.
package struct KeyAdministration: Sendable {
    let random: RandomSource
    let changes: ApplicationChanges

    /// Returns the API keys without their text: `{"items": [{"label", "created", "server"}], "next": null}`.
    ///
    /// The entity tag of the response is the revision of the application.
    package func list(of application: String) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        return stored.list(stored.keys.map { .object($0.document) })
    }

    /// Creates an API key from `{"label", "server"?, "key"?}`.
    ///
    /// Without `key`, the service generates a random key.
    ///
    /// - Returns: `{"label", "created", "server", "key"}`. The key is shown only once.
    package func create(
        of application: String,
        _ document: JSONValue,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let (label, given, server) = try Self.newKey(document)
        let key = given ?? Secret(Base64URL.encode(random.bytes(32)))
        let hash = Digest.sha256(key.reveal())
        let changed = try await changes.edit(application, if: .any, by: actor) { desired, stored in
            if let same = stored.keys.first(where: { $0.hash == hash }) {
                throw Failure(.conflict, "This application already has this key, with the label \"\(same.label)\".")
            }
            try stored.checkFree(label)
            guard stored.keys.count < DesiredApplication.maxKeys else {
                throw Failure(
                    .conflict,
                    "An application can have at most \(DesiredApplication.maxKeys) keys. Revoke an unused one."
                )
            }
            desired.keys.append(DesiredApplication.Key(label: label, hash: hash, server: server))
        }
        var body = try changed.key(label).document
        body.append("key", .string(key.reveal()))
        return changed.resource(.object(body))
    }

    /// Changes the label of an API key by the merge patch `{"label"}`.
    package func relabel(
        _ label: String,
        of application: String,
        patch: JSONValue,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let new = patch.object?["label"]?.string ?? label
        let changed = try await changes.edit(application, if: precondition, by: actor) { desired, stored in
            let key = try stored.key(label)
            var reader = DocumentReader(origin: .request)
            let merged = reader.merge(patch, into: key.document, fixed: ["created", "server"])
            _ = reader.label(merged["label"])
            try reader.check()
            guard !new.hasSameBytes(as: label) else { return }
            try stored.checkFree(new)
            desired.variables[DocumentVariables.key(new)] = desired.variables[DocumentVariables.key(label)]
            desired.variables[DocumentVariables.key(label)] = nil
            desired.keys = desired.keys.map {
                $0.hash == key.hash ? .init(label: new, hash: key.hash, server: key.server) : $0
            }
        }
        return changed.resource(.object(try changed.key(new).document))
    }

    package func revoke(
        _ label: String,
        of application: String,
        if precondition: Precondition,
        by actor: ChangeAuthor
    ) async throws(Failure) {
        _ = try await changes.edit(application, if: precondition, by: actor) { desired, stored in
            let key = try stored.key(label)
            desired.keys.removeAll { $0.hash == key.hash }
        }
    }

    /// Reads from a request the label of a new API key, whether it is a server key, and its text.
    ///
    /// The text is nil if the request has none.
    ///
    /// - Throws: `document_invalid` with all problems.
    private static func newKey(
        _ document: JSONValue
    ) throws(Failure) -> (label: String, key: Secret?, server: Bool) {
        var reader = DocumentReader(origin: .request)
        let object = reader.object(document, at: JSONPointer(), known: ["label", "key", "server"])
        let label = object.flatMap { reader.label($0["label"]) }
        let place = JSONPointer() / "key"
        let key = reader.text(object?.present("key"), at: place).map(Secret.init)
        if let key, let problem = DocumentSecrets.problem(ofKey: key) { reader.problems.add(place, problem) }
        let server = reader.bool(object?.present("server"), at: JSONPointer() / "server") ?? false
        guard reader.problems.isEmpty, let label else { throw reader.problems.failure }
        return (label, key, server)
    }
}

extension DocumentReader {
    fileprivate mutating func label(_ value: JSONValue?) -> String? {
        let text = value?.string.flatMap { (1...100).contains($0.utf8.count) ? $0 : nil }
        return required(text, at: JSONPointer() / "label", "must be a text of 1 to 100 bytes")
    }
}

extension StoredApplication.Key {
    fileprivate var document: JSONObject {
        ["label": .string(label), "created": .integer(created), "server": .bool(server)]
    }
}

extension StoredApplication {
    fileprivate func key(_ label: String) throws(Failure) -> Key {
        guard let key = keys.first(where: { $0.label.hasSameBytes(as: label) }) else {
            throw Failure(.notFound, "The application has no key with this label.")
        }
        return key
    }

    fileprivate func checkFree(_ label: String) throws(Failure) {
        guard !keys.contains(where: { $0.label.hasSameBytes(as: label) }) else {
            throw Failure(.conflict, "The application already has a key with this label. Choose another label.")
        }
    }
}
