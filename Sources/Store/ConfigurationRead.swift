package import Identity
import Postgres

/// An application as the database holds it: secrets sealed, documents unread.
package struct StoredApplication: Sendable {
    package let id: ApplicationID
    package let name: String
    package let schema: String
    package let revision: Int64
    package let settings: JSONValue
    /// SHA-256 of each API key.
    package let keyHashes: Set<[UInt8]>
    package let facebook: Facebook?
    /// The active mapping for Facebook.
    package let mapping: JSONValue?
    /// Built-in and declared properties.
    package let properties: [Property]
    package let dynamicNames: Set<PropertyName>

    /// Settings of the provider, and its apps in the order in which they are asked.
    package struct Facebook: Sendable {
        package let enabled: Bool
        package let graphVersion: String
        package let proof: ProofForm
        package let apps: [App]
    }

    /// An app with its sealed secret.
    package struct App: Sendable {
        package let id: FacebookAppID
        package let secret: [UInt8]
        package let secretKeyID: String
    }
}

extension Store {
    /// The number that every change of configuration raises.
    package func configurationRevision() async throws(Failure) -> Int64 {
        let result = try await query("select revision from federation.configuration")
        return try read { () throws(PostgresError) in try result.first?.decode(0, as: Int64.self) } ?? 0
    }

    /// Every application, as of one moment.
    package func applications() async throws(Failure) -> [StoredApplication] {
        // One statement, so that no change falls between its parts. The revision is a subquery because a join makes PostgreSQL
        // expect a thousand times the rows: it then compiles the statement first (JIT), for longer than a statement may take.
        let result = try await query(
            """
            select a.id, a.name, a.schema_name, (select revision from federation.configuration), a.settings,
                (select coalesce(array_agg(encode(k.key_hash, 'hex')), '{}')
                    from federation.api_keys k where k.application_id = a.id),
                (select jsonb_build_object('enabled', p.enabled, 'graphVersion', p.graph_version, 'proof', p.proof, 'apps',
                    (select coalesce(jsonb_agg(jsonb_build_object('id', f.app_id, 'secret', encode(f.secret, 'hex'),
                        'key', f.secret_key_id) order by f.position), '[]')
                        from federation.provider_apps f where f.application_id = a.id and f.provider = p.provider))
                    from federation.provider_settings p where p.application_id = a.id and p.provider = 'facebook'),
                (select m.document from federation.mappings m
                    where m.application_id = a.id and m.provider = 'facebook' and m.active),
                (select coalesce(jsonb_agg(jsonb_build_array(p.name, p.type, p.required, p.client_mappable)
                    order by p.position, p.name), '[]') from federation.properties p where p.application_id = a.id),
                (select coalesce(array_agg(d.name), '{}')
                    from federation.dynamic_properties d where d.application_id = a.id)
            from federation.applications a
            """
        )
        return try read { () throws(PostgresError) in
            var applications: [StoredApplication] = []
            for row in result.rows {
                guard let application = try Self.application(in: row) else { continue }
                applications.append(application)
            }
            return applications
        }
    }

    private static func application(in row: Row) throws(PostgresError) -> StoredApplication? {
        guard let id = ApplicationID(try row.decode(0, as: String.self)) else { return nil }
        return StoredApplication(
            id: id,
            name: try row.decode(1, as: String.self),
            schema: try row.decode(2, as: String.self),
            revision: try row.decode(3, as: Int64.self),
            settings: json(try row.decode(4, as: JSONText.self)) ?? .null,
            keyHashes: Set(try row.decode(5, as: [String].self).map(bytes(ofHex:))),
            facebook: facebook(try row.decode(6, as: JSONText?.self).flatMap(json)),
            mapping: try row.decode(7, as: JSONText?.self).flatMap(json),
            properties: properties(json(try row.decode(8, as: JSONText.self))),
            dynamicNames: Set(try row.decode(9, as: [String].self).compactMap { PropertyName($0) })
        )
    }

    private static func facebook(_ value: JSONValue?) -> StoredApplication.Facebook? {
        guard let object = value?.object else { return nil }
        let apps = (object["apps"]?.array ?? []).compactMap { element -> StoredApplication.App? in
            guard let app = element.object, let id = app["id"]?.string.flatMap(FacebookAppID.init),
                let secret = app["secret"]?.string, let key = app["key"]?.string
            else { return nil }
            return StoredApplication.App(id: id, secret: bytes(ofHex: secret), secretKeyID: key)
        }
        return StoredApplication.Facebook(
            enabled: object["enabled"]?.bool ?? false,
            graphVersion: object["graphVersion"]?.string ?? "",
            proof: object["proof"]?.string.flatMap(ProofForm.init(rawValue:)) ?? .timed,
            apps: apps
        )
    }

    /// Declared properties, with the built-in ones in front unless they are declared again.
    private static func properties(_ value: JSONValue?) -> [Property] {
        let declared = (value?.array ?? []).compactMap { element -> Property? in
            guard let fields = element.array, fields.count == 4,
                let name = fields[0].string.flatMap({ PropertyName($0) }),
                let type = fields[1].string.flatMap(PropertyType.init(rawValue:))
            else { return nil }
            return Property(
                name: name,
                type: type,
                required: fields[2].bool ?? false,
                clientMappable: fields[3].bool ?? false
            )
        }
        return Property.builtIn.filter { builtIn in !declared.contains { $0.name == builtIn.name } } + declared
    }

    private static func json(_ text: JSONText) -> JSONValue? {
        try? JSONParser.parse(text.text, limits: .stored)
    }

    /// The bytes that `encode(…, 'hex')` wrote.
    private static func bytes(ofHex text: String) -> [UInt8] {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
