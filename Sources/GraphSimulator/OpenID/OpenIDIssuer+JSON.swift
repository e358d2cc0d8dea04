import Crypto

extension OpenIDIssuer: Keyed {
    static var keyName: String { "name" }

    var key: String {
        get { name }
        set { name = newValue }
    }

    init(json: JSON, path: String, key: String?) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(name: try reader.key("name", address: key), clients: try reader.secrets("clients"))
        if let claims = try reader.anObject("user") { user = claims.plainText }
        refuses = try reader.bool("refuses") ?? false
        claimedIssuer = try reader.string("claimedIssuer")
        algorithm = try reader.word("algorithm") ?? .rs256
        authentication = try reader.word("authentication") ?? .basic
        clientKey = try reader.object("clientKey", GraphSimulator.OpenIDClientKey.init)
        answersByForm = try reader.bool("answersByForm") ?? false
        firstUser = try reader.anObject("firstUser")
        refreshTokens = try reader.bool("refreshTokens") ?? false
        rotates = try reader.bool("rotates") ?? false
        userinfo = try reader.anObject("userinfo")
        lacks = try reader.strings("lacks") ?? []
        extraKeys = try reader.list("extraKeys") { json, _ in json }
        guard authentication != .apple || clientKey != nil else {
            throw reader.failure("clientKey", "is missing")
        }
        try reader.finish()
    }

    var json: JSON {
        var json: JSON = [
            "name": .string(name), "algorithm": .string(algorithm.rawValue), "clients": .secrets(clients),
            "user": userClaims, "refuses": .bool(refuses), "authentication": .string(authentication.rawValue),
            "answersByForm": .bool(answersByForm), "refreshTokens": .bool(refreshTokens), "rotates": .bool(rotates),
            "lacks": .strings(lacks), "extraKeys": .array(extraKeys),
        ]
        json["claimedIssuer"] = claimedIssuer.map { .string($0) }
        json["clientKey"] = clientKey?.json
        json["firstUser"] = firstUser
        json["userinfo"] = userinfo
        return json
    }
}

extension GraphSimulator.OpenIDClientKey {
    fileprivate init(json: JSON, path: String) throws(DataError) {
        var reader = try JSONReader(json, path: path)
        self.init(
            team: try reader.requiredString("team"),
            kid: try reader.requiredString("kid"),
            publicKey: try reader.requiredString("publicKey")
        )
        try reader.finish()
        guard (try? P256.Signing.PublicKey(pemRepresentation: publicKey)) != nil else {
            throw reader.failure("publicKey", "expected a public key on P-256 in PEM")
        }
    }

    fileprivate var json: JSON {
        ["team": .string(team), "kid": .string(kid), "publicKey": .string(publicKey)]
    }
}

extension JSONReader {
    /// Reads an object whose members are clients with their secrets; none if it is absent.
    mutating func secrets(_ name: String) throws(DataError) -> [String: String] {
        var secrets: [String: String] = [:]
        for member in try members(name) ?? [] {
            guard let secret = member.value.string else { throw failure(name, "expected secrets") }
            secrets[member.name] = secret
        }
        return secrets
    }

    /// Reads a member that is an object of any members; `nil` if it is absent.
    mutating func anObject(_ name: String) throws(DataError) -> JSON? {
        try read(name, "an object") { $0.members == nil ? nil : $0 }
    }
}

extension JSON {
    static func secrets(_ secrets: [String: String]) -> JSON {
        .object(secrets.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
    }
}
