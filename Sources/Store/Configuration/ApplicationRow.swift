import Domain
import Encodings
import Postgres

/// Reads applications from the database: all queries share one list of columns and one decoder.
extension StoredApplication {
    /// The columns to select from `federation.applications a`.
    static let columns: Statement = """
        a.id, a.name, a.schema_name, a.database, a.revision, a.created, a.updated, a.settings,
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
        (select coalesce(jsonb_agg(jsonb_build_array(k.provider, k.kind)), '[]')
            from federation.provider_kinds k where k.application_id = a.id) as provider_kinds,
        a.variables,
        (select coalesce(array_agg(d.name), '{}') from federation.dynamic_properties d where d.application_id = a.id)
        """

    /// Returns the query for one application.
    static func statement(for id: ApplicationID) -> Statement {
        "select \(columns) from federation.applications a where a.id = \(id.text)"
    }

    /// Reads an application from a row with `columns`; nil if its id is malformed.
    init?(_ row: inout Row) throws(PostgresError) {
        let id = ApplicationID(try row.next(String.self))
        let (name, schema) = (try row.next(String.self), try row.next(String.self))
        let (variable, revision) = (try row.next(String?.self), try row.next(Int64.self))
        let (created, updated) = (try row.next(Timestamp.self), try row.next(Timestamp?.self))
        var unreadable: [String] = []
        func json() throws(PostgresError) -> JSONValue {
            do throws(PostgresError) {
                return try row.next(JSONValue.self)
            } catch {
                // An unreadable column must not affect other applications.
                guard case .decoding(let failure) = error, failure.reason == .malformed else { throw error }
                unreadable.append(failure.column)
                return .null
            }
        }
        let (settings, keys, providers, mappings) = (try json(), try json(), try json(), try json())
        let (properties, providerKinds, variables) = (try json(), try json(), try json())
        let dynamicNames = try row.next([String].self)
        guard let id else { return nil }
        let database = variable.flatMap(DatabaseVariable.init)
        if variable != nil, database == nil { unreadable.append("database") }
        self.init(
            id: id,
            name: name,
            schema: schema,
            database: database,
            revision: revision,
            settings: settings,
            keys: Self.keys(keys),
            providers: Self.providers(providers),
            providerKinds: Self.kinds(providerKinds),
            mappings: Self.mappings(mappings),
            properties: Self.properties(properties),
            dynamicNames: Set(dynamicNames.compactMap { PropertyName($0) }),
            created: created.milliseconds,
            updated: updated?.milliseconds,
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
                secret: EncryptedSecret(bytes: Hexadecimal.decode(secret.utf8) ?? [], keyID: key),
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

    /// Returns the built-in properties that are not declared again, followed by the declared ones.
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
