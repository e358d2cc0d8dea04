import Administration
import Crypto
import Curl
import Domain
import Encodings
import Facebook
import FoundationEssentials
import Mapping
import Postgres
import Store

/// The mapping and the statement that all logins of the floor share.
struct FloorPlan {
    let mapping: CompiledMapping
    let statement: LoginStatement

    /// Prepares the mapping and the statement for repeated or single-use credentials, as `use` says.
    init(use: LoginStatement.Use) throws {
        let document = try ApplicationDocument(text: Array(Setting.document.utf8), kinds: try Setting.kinds())
        let application = Application(
            id: document.id,
            name: document.name,
            schema: document.schema,
            revision: 1,
            settings: document.settings,
            properties: document.properties
        )
        let client = try JSONParser.parse(Setting.clientMapping, limits: .request)
        mapping = try CompiledMapping(
            stored: try Mapping(document.mappings[.facebook] ?? .array([])),
            client: try Mapping(client, origin: .client),
            fields: .facebook,
            properties: document.properties,
            settings: document.settings
        )
        statement = LoginStatement(
            application: application,
            provider: .facebook,
            tokens: nil,
            targets: mapping.targets.map { .init(name: $0.name, type: $0.type, sync: $0.sync) },
            use: use
        )
    }

    /// Returns the values that the service writes for a user with this profile from Graph.
    ///
    /// `listsScopes` is true for a login with an access token, which lists the permissions.
    func write(subject: String, profile: JSONObject, listsScopes: Bool, once: SingleUse? = nil) throws -> LoginWrite {
        guard let app = ProviderAppID(Setting.appID), let subject = Subject(subject) else {
            throw MissingSetting(name: "an app id")
        }
        return LoginWrite(
            verified: VerifiedIdentity(
                identity: IdentityKey(provider: .facebook, app: app, subject: subject),
                profile: profile,
                scopes: People.scopes,
                scopesAreListed: listsScopes,
                dataAccessExpiresAt: listsScopes ? 1_900_000_000 : nil
            ),
            banHash: [UInt8](repeating: 0, count: 32),
            freshID: ObjectID(UUID()),
            tokenHash: [],
            previousTokenHash: nil,
            sessionSeconds: 2_592_000,
            values: try mapping.apply(to: AdmittedProfile(profile, by: .facebook), grantedScopes: People.scopes).values,
            dynamic: JSONObject(),
            once: once
        )
    }

    /// A response of the same length as the service's response to these users.
    static let reply = [UInt8](repeating: UInt8(ascii: "x"), count: 720)
}

/// The prepared calls of one user.
struct FloorLogin: Sendable {
    let inspection: HTTPRequest
    let profile: HTTPRequest
    private let statement: Statement
    private let fresh: FreshValues

    init(number: Int, token: String, setting: Setting, plan: FloorPlan) throws {
        let app = "\(Setting.appID)|\(Setting.appSecret)"
        let base = setting.graphURL + "/v25.0/"
        let fields = plan.mapping.fields.split(separator: ",").joined(separator: "%2C")
        inspection = try Self.request(
            base + "debug_token?input_token=\(token)&appsecret_proof=\(Self.proof(of: app))",
            bearer: app
        )
        profile = try Self.request(base + "me?fields=\(fields)&appsecret_proof=\(Self.proof(of: token))", bearer: token)
        let profile = try JSONParser.parse(People.profile(number), limits: .reply).object ?? JSONObject()
        let write = try plan.write(subject: People.subject(number), profile: profile, listsScopes: true)
        statement = plan.statement.filled(with: write)
        fresh = try FreshValues(of: plan.statement)
    }

    /// Returns the write of the service, with a new session.
    func statement(run: Int64, number: Int) -> Statement {
        statement.asLogin(run: run, number: number, fresh)
    }

    /// Returns the classic proof; a timed proof would expire after five minutes.
    private static func proof(of token: String) -> String {
        let key = SymmetricKey(data: Data(Setting.appSecret.utf8))
        return HMAC<SHA256>.authenticationCode(for: Data(token.utf8), using: key)
            .map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
    }

    private static func request(_ url: String, bearer: String) throws -> HTTPRequest {
        try HTTPRequest(
            url: try HTTPURL(url),
            headers: [("Authorization", "Bearer " + bearer)],
            timeout: .milliseconds(2500),
            connectTimeout: .seconds(1),
            maxReplyBytes: 262_144
        )
    }
}

/// The positions of the values that differ between logins of the same user.
struct FreshValues: Sendable {
    let freshID: Int
    let tokenHash: Int
    /// The position of the hash of a single-use credential; nil for other credentials.
    let credentialHash: Int?

    init(of statement: LoginStatement) throws {
        let names = statement.parameters
        guard let freshID = names.firstIndex(of: LoginStatement.freshIDParameter),
            let tokenHash = names.firstIndex(of: LoginStatement.tokenHashParameter)
        else { throw MissingSetting(name: "a login's own values") }
        self.freshID = freshID
        self.tokenHash = tokenHash
        credentialHash = names.firstIndex(of: LoginStatement.credentialHashParameter)
    }
}

extension Statement {
    /// Returns the statement with new values for one login: the id that a new user would get, and the session.
    ///
    /// - Parameters:
    ///   - run: A number that tells runs apart.
    ///   - number: The number of the login within the run.
    ///   - fresh: The positions of these values.
    /// - Returns: The statement to run.
    func asLogin(run: Int64, number: Int, _ fresh: FreshValues) -> Statement {
        var hash = [UInt8](repeating: 0, count: 32)
        withUnsafeBytes(of: number) { hash.replaceSubrange(0..<8, with: $0) }
        withUnsafeBytes(of: run) { hash.replaceSubrange(8..<16, with: $0) }
        var binds = binds
        var generator = SystemRandomNumberGenerator()
        binds[fresh.freshID] = .uuid(.random(using: &generator))
        binds[fresh.tokenHash] = .bytes(hash)
        if let credentialHash = fresh.credentialHash { binds[credentialHash] = .bytes(hash) }
        return Statement(sql: sql, binds: binds)
    }
}
