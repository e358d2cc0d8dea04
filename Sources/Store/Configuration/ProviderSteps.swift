import Postgres
import Vocabulary

extension ChangeTransaction {
    func setProvider(_ provider: ProviderName, kind: ProviderName, enabled: Bool, options: JSONValue) async throws {
        _ = try await connection.query(
            """
            insert into federation.provider_settings (application_id, provider, kind, enabled, options)
            values (\(application.text), \(provider.text), \(kind.text), \(enabled), \(JSONText(options.text)))
            on conflict (application_id, provider) do update
                set kind = excluded.kind, enabled = excluded.enabled, options = excluded.options
            """
        )
    }

    func setApps(_ apps: [ConfigurationChange.App], of provider: ProviderName) async throws {
        let ids = apps.map(\.id.text)
        _ = try await connection.query(
            """
            delete from federation.provider_apps
            where application_id = \(application.text) and provider = \(provider.text) and app_id <> all (\(ids))
            """
        )
        for (position, app) in apps.enumerated() {
            if let secret = app.secret {
                try await store(secret, of: app, at: provider, position: position)
            } else {
                try await expectOne(
                    """
                    update federation.provider_apps set position = \(position), config_id = \(app.configID)
                    where application_id = \(application.text) and provider = \(provider.text) and app_id = \(app.id.text)
                    """,
                    "secret of the app \(app.id)"
                )
            }
        }
    }

    private func store(
        _ secret: SealedSecret,
        of app: ConfigurationChange.App,
        at provider: ProviderName,
        position: Int
    ) async throws {
        _ = try await connection.query(
            """
            insert into federation.provider_apps
                (application_id, provider, app_id, position, secret, secret_key_id, config_id)
            values (\(application.text), \(provider.text), \(app.id.text), \(position), \(secret.bytes), \(secret.keyID),
                \(app.configID))
            on conflict (application_id, provider, app_id) do update set position = excluded.position,
                secret = excluded.secret, secret_key_id = excluded.secret_key_id, secret_changed = now(),
                config_id = excluded.config_id
            """
        )
    }

    /// Removes the settings and, with them, the apps and their secrets; mappings stay.
    func removeProvider(_ provider: ProviderName) async throws {
        try await expectOne(
            """
            delete from federation.provider_settings
            where application_id = \(application.text) and provider = \(provider.text)
            """,
            "provider \(provider)"
        )
    }
}
