import Postgres
import Vocabulary

/// How an application is read: one list of columns and one way to decode them, whoever asks.
extension StoredApplication {
    /// What is selected from `federation.applications a`.
    static let columns: Statement = """
        a.id, a.name, a.schema_name, a.revision, a.settings,
        (select coalesce(jsonb_agg(jsonb_build_array(k.label, encode(k.key_hash, 'hex'),
            (extract(epoch from k.created) * 1000)::bigint, k.server) order by k.label), '[]')
            from federation.api_keys k where k.application_id = a.id) as keys,
        (select coalesce(jsonb_agg(jsonb_build_object('provider', p.provider,
            'kind', coalesce(p.kind, p.provider), 'enabled', p.enabled, 'options', p.options, 'apps',
            (select coalesce(jsonb_agg(jsonb_build_object('id', f.app_id, 'secret', encode(f.secret, 'hex'),
                'key', f.secret_key_id, 'config', f.config_id,
                'changed', (extract(epoch from f.secret_changed) * 1000)::bigint) order by f.position), '[]')
                from federation.provider_apps f where f.application_id = a.id and f.provider = p.provider))), '[]')
            from federation.provider_settings p where p.application_id = a.id) as providers,
        (select coalesce(jsonb_agg(jsonb_build_array(m.provider, m.revision, m.document)), '[]')
            from federation.mappings m where m.application_id = a.id and m.active) as mappings,
        (select coalesce(jsonb_agg(jsonb_build_array(p.name, p.type, p.required, p.client_mappable, p.visible_to,
            p.indexed)
            order by p.position, p.name), '[]') from federation.properties p where p.application_id = a.id) as properties,
        (select coalesce(array_agg(d.name), '{}') from federation.dynamic_properties d where d.application_id = a.id),
        a.created, a.updated,
        (select coalesce(jsonb_agg(jsonb_build_array(k.provider, k.kind)), '[]')
            from federation.provider_kinds k where k.application_id = a.id) as provider_kinds,
        a.database, a.variables
        """

    /// The question for one application.
    static func statement(for id: ApplicationID) -> Statement {
        "select \(columns) from federation.applications a where a.id = \(id.text)"
    }

    /// The applications of a result whose columns are `columns`.
    static func all(in result: ResultSet) throws(PostgresError) -> [StoredApplication] {
        var applications: [StoredApplication] = []
        for row in result.rows {
            if let application = try StoredApplication(row) { applications.append(application) }
        }
        return applications
    }

    private init?(_ row: Row) throws(PostgresError) {
        guard let id = ApplicationID(try row.decode(0, as: String.self)) else { return nil }
        var unreadable: [String] = []
        func json(_ column: Int) throws(PostgresError) -> JSONValue {
            do throws(PostgresError) {
                return try row.decode(column, as: JSONValue.self)
            } catch {
                // Other applications are not to suffer from it.
                guard case .decoding(let failure) = error, failure.reason == .malformed else { throw error }
                unreadable.append(failure.column)
                return .null
            }
        }
        let (settings, keys, providers) = (try json(4), try json(5), try json(6))
        let (mappings, properties, variables) = (try json(7), try json(8), try json(14))
        let variable = try row.decode(13, as: String?.self)
        let database = variable.flatMap(DatabaseVariable.init)
        if variable != nil, database == nil { unreadable.append("database") }
        self.init(
            id: id,
            name: try row.decode(1, as: String.self),
            schema: try row.decode(2, as: String.self),
            database: database,
            revision: try row.decode(3, as: Int64.self),
            settings: settings,
            keys: Self.keys(keys),
            providers: Self.providers(providers),
            providerKinds: Self.kinds(try json(12)),
            mappings: Self.mappings(mappings),
            properties: Self.properties(properties),
            dynamicNames: Set(try row.decode(9, as: [String].self).compactMap { PropertyName($0) }),
            created: try row.decode(10, as: Timestamp.self).milliseconds,
            updated: try row.decode(11, as: Timestamp?.self)?.milliseconds,
            unreadable: unreadable,
            variables: variables
        )
    }

    private static func keys(_ value: JSONValue) -> [Key] {
        (value.array ?? []).compactMap { element in
            guard let fields = element.array, fields.count == 4, let label = fields[0].string,
                let hash = fields[1].string, let created = fields[2].integer
            else { return nil }
            return Key(
                label: label,
                hash: Hexadecimal.decode(hash.utf8) ?? [],
                created: created,
                server: fields[3].bool ?? false
            )
        }
    }

    private static func mappings(_ value: JSONValue) -> [ProviderName: ActiveMapping] {
        var mappings: [ProviderName: ActiveMapping] = [:]
        for element in value.array ?? [] {
            guard let fields = element.array, fields.count == 3, let provider = fields[0].string.flatMap(provider),
                let revision = fields[1].integer
            else { continue }
            mappings[provider] = ActiveMapping(revision: revision, document: fields[2])
        }
        return mappings
    }

    private static func providers(_ value: JSONValue) -> [ProviderName: Provider] {
        var providers: [ProviderName: Provider] = [:]
        for object in (value.array ?? []).compactMap(\.object) {
            guard let name = object["provider"]?.string.flatMap(provider),
                let kind = object["kind"]?.string.flatMap(provider)
            else { continue }
            providers[name] = settings(object, of: kind)
        }
        return providers
    }

    private static func kinds(_ value: JSONValue) -> [ProviderName: ProviderName] {
        var kinds: [ProviderName: ProviderName] = [:]
        for fields in (value.array ?? []).compactMap(\.array) where fields.count == 2 {
            guard let name = fields[0].string.flatMap(provider), let kind = fields[1].string.flatMap(provider) else {
                continue
            }
            kinds[name] = kind
        }
        return kinds
    }

    private static func provider(_ text: String) -> ProviderName? { ProviderName(text) }

    private static func settings(_ object: JSONObject, of kind: ProviderName) -> Provider {
        let apps = (object["apps"]?.array ?? []).compactMap { element -> App? in
            guard let app = element.object, let id = app["id"]?.string.flatMap(ProviderAppID.init),
                let secret = app["secret"]?.string, let key = app["key"]?.string
            else { return nil }
            return App(
                id: id,
                secret: SealedSecret(bytes: Hexadecimal.decode(secret.utf8) ?? [], keyID: key),
                secretChanged: app["changed"]?.integer ?? 0,
                configID: app["config"]?.string
            )
        }
        return Provider(
            kind: kind,
            enabled: object["enabled"]?.bool ?? false,
            options: object["options"] ?? .null,
            apps: apps
        )
    }

    /// Declared properties, with the built-in ones in front unless they are declared again.
    private static func properties(_ value: JSONValue) -> [Property] {
        let declared = (value.array ?? []).compactMap { element -> Property? in
            guard let fields = element.array, fields.count == 6,
                let name = fields[0].string.flatMap({ PropertyName($0) }),
                let type = fields[1].string.flatMap(PropertyType.init(rawValue:))
            else { return nil }
            return Property(
                name: name,
                type: type,
                required: fields[2].bool ?? false,
                clientMappable: fields[3].bool ?? false,
                visibleTo: fields[4].string.flatMap(Visibility.init(rawValue:)) ?? .server,
                indexed: fields[5].bool ?? false
            )
        }
        return Property.builtIn.filter { builtIn in !declared.contains { $0.name == builtIn.name } } + declared
    }
}
