import Domain
import Store
import Testing
import TestSupport

/// Helpers for a tenant whose application keeps tokens.
extension Tenant {
    /// Returns the same application with token keeping on.
    func keepingTokens(_ keeping: TokenKeeping = .asItIs) -> Tenant {
        var tenant = self
        tenant.tokens = keeping
        return tenant
    }

    /// Logs in with a token and writes `nick`.
    @discardableResult
    func login(
        _ subject: String,
        token: String,
        kind: ProviderToken.Kind = .access,
        expiresAt: Int64? = nil,
        nick: String? = nil,
        _ sync: SyncMode = .always,
        hash: [UInt8] = Tenant.randomHash()
    ) async throws -> WrittenLogin {
        let target = LoginStatement.Target(name: Self.named("nick"), type: .string, sync: sync)
        let encrypted = EncryptedToken(
            kind: kind,
            secret: EncryptedSecret(bytes: Array(token.utf8), keyID: "key"),
            expiresAt: expiresAt
        )
        let write = try write(subject, [nick.map(PropertyValue.text)], hash: hash, token: encrypted)
        return try await store.login(
            write,
            by: LoginStatement(application: application, provider: .facebook, tokens: tokens, targets: [target]),
            deadline: .now + .seconds(5)
        ).get()
    }

    /// Inserts users by SQL, each with a token whose check is due.
    func fill(_ count: Int, at provider: String = "facebook", app: String = "42") async throws {
        try await database.psql(
            """
            with people as (
                insert into \(Self.users) (object_id) select gen_random_uuid() from generate_series(1, \(count))
                returning object_id
            )
            insert into \(Self.schema).identities
                (provider, provider_app, subject, object_id, token, token_key_id, token_kind, check_due)
            select '\(provider)', '\(app)', row_number() over ()::text, object_id, sha256(object_id::text::bytea), 'key', 'access',
                now() - interval '1 minute' from people
            """
        )
    }

    /// Claims identities whose check is due.
    func claim(
        _ limit: Int = 100,
        at provider: ProviderName = .facebook,
        seconds: Double = 60
    ) async throws -> [KeptIdentity] {
        try await store.claimIdentities(of: application, at: provider, limit: limit, leaseSeconds: seconds)
    }

    /// Returns how many identities are due.
    func due() async throws -> Int {
        let rows = try await database.psql(
            "select count(*) from \(Self.schema).identities where check_due <= now()"
        )
        return Int((rows.first?.first ?? nil) ?? "") ?? -1
    }

    /// Returns a column of the identity with a subject as text.
    func identity(_ column: String, _ subject: String = "1001") async throws -> String? {
        try await database.psql(
            "select \(column) from \(Self.schema).identities where subject = '\(subject)'"
        ).first?.first ?? nil
    }

    /// Makes the check of every identity due.
    func makeDue() async throws {
        try await database.psql("update \(Self.schema).identities set check_due = now() where check_due is not null")
    }
}

extension TokenStanding {
    /// A token that is valid for some time.
    static let good = TokenStanding(
        scopes: ["email", "user_birthday"],
        dataAccessExpiresAt: 1_950_000_000,
        expiresAt: nil
    )
}
