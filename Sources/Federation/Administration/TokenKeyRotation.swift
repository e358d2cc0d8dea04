package import Identity
import Store

extension Administration {
    /// `{"items": [{"id", "created", "retired", "signs", "published", "keyId"}]}`: the keys of signed tokens, the newest first.
    package func tokenKeys() async throws(Failure) -> JSONValue {
        let keys = try await store.tokenKeys()
        let signing = TokenKeyRing.signing(among: keys)
        let published = Set(TokenKeyRing.published(among: keys).map(\.id))
        return .object([
            "items": .array(
                keys.reversed().map { key in
                    .object([
                        "id": .string(key.id), "created": .integer(key.created),
                        "retired": key.retired.map(JSONValue.integer) ?? .null,
                        "signs": .bool(signing?.id == key.id), "published": .bool(published.contains(key.id)),
                        "keyId": .string(key.secret.keyID),
                    ])
                }
            )
        ])
    }

    /// Makes a new key of signed tokens; the one before it signs until the new one is known everywhere.
    ///
    /// - Parameters:
    ///   - document: `{"atOnce"?}`: true removes all former keys, so that no token of theirs counts any more.
    ///   - actor: Who does it.
    /// - Returns: `{"id", "atOnce", "signsInSeconds"}`.
    /// - Throws: `document_invalid`, `store_unavailable` and its like.
    package func rotateTokenKeys(_ document: JSONValue, by actor: Actor) async throws(Failure) -> JSONValue {
        var problems = DocumentProblems()
        var atOnce = false
        guard let members = document.object?.members else {
            throw Failure(.documentInvalid, "The body must be an object, such as {} or {\"atOnce\": true}.")
        }
        for member in members {
            let place = JSONPointer() / member.key
            switch member.key {
            case "atOnce": problems.take(member.value, at: place, into: &atOnce)
            default: problems.add(place, "is not known here")
            }
        }
        guard problems.isEmpty else { throw problems.failure }
        let key = TokenKey()
        try await store.rotateTokenKeys(
            to: key.stored(under: masterKeys),
            atOnce: atOnce,
            keptSeconds: Int64(TokenKeyRing.keptSeconds),
            by: actor
        )
        let signsAtOnce = TokenKeyRing.signing(among: try await store.tokenKeys())?.id == key.id
        let seconds = signsAtOnce ? 0 : Int64(TokenKeyRing.overlapSeconds)
        return .object(["id": .string(key.id), "atOnce": .bool(atOnce), "signsInSeconds": .integer(seconds)])
    }
}
