import Domain
import FoundationEssentials
import Postgres
@testable import Store
import Testing
import TestSupport

/// Tests that the generated statements agree with the files in the folder `Golden`.
///
/// The files name the parameters for the reader; their first line lists the names in the order of the numbers. With
/// REWRITE_GOLDEN=1 in the environment the tests write the files instead of comparing them.
@Suite("The generated statements are those of Tests/StoreTests/Golden")
struct GoldenStatementTests {
    private static let targets: [LoginStatement.Target] = [
        .init(name: .email, type: .string, sync: .always, mayBeCleared: true),
        .init(name: .name, type: .string, sync: .ifEmpty),
        .init(name: Tenant.named("nick"), type: .string, sync: .untilEdited, mayBeCleared: true),
        .init(name: Tenant.named("points"), type: .int, sync: .firstLogin),
        .init(name: Tenant.named("extra"), type: .json, sync: .untilEdited),
    ]

    private static func application(
        _ change: (inout ApplicationSettings) -> Void = { _ in }
    ) throws -> Application {
        var settings = ApplicationSettings()
        settings.dynamicProperties = true
        settings.roles = ["editor"]
        change(&settings)
        return Application(
            id: try #require(ApplicationID("shop")),
            name: "Shop",
            schema: "shop",
            revision: 1,
            settings: settings,
            properties: Property.builtIn + [
                Property(name: Tenant.named("nick"), type: .string),
                Property(name: Tenant.named("points"), type: .int),
                Property(name: Tenant.named("extra"), type: .json),
            ]
        )
    }

    /// A variant of the login statement.
    enum Login: String, CaseIterable, CustomTestStringConvertible {
        case plain, properties, once, guestLink, sessionLink, keptToken, exchangedToken, lastLoginWins, maxSessions,
            refused, refusedOnce, secondFactor, finishing, enrolling, closed, refreshFamily,
            refreshFamilyOnce

        var testDescription: String { rawValue }

        func statement() throws -> LoginStatement {
            let targets = GoldenStatementTests.targets
            switch self {
            case .plain: return try make()
            case .properties: return try make(targets)
            case .once: return try make([targets[0]], use: .once)
            case .guestLink:
                let guest = LinkTarget.guest(ObjectID(UUID()), tokenHash: [])
                return try make(targets).linking(guest)
            case .sessionLink:
                return try make(targets).linking(.session(tokenHash: [], authenticatedWithin: 300))
            case .keptToken: return try make(tokens: .asItIs)
            case .exchangedToken: return try make(tokens: .exchanged, use: .once)
            case .lastLoginWins: return try make { $0.multipleLogins = false }
            case .maxSessions: return try make { $0.maxSessions = 5 }
            case .closed: return try make { $0.newUsers = .closed }
            case .refreshFamily:
                return try make(targets).variant(.init(.repeated, opensRefreshFamily: true, refusesUnknown: true))
            case .refreshFamilyOnce: return try make(targets).variant(.init(.once, opensRefreshFamily: true))
            case .refused: return try make { ($0.maxSessions, $0.sessionLimitBehavior) = (5, .refuse) }
            case .secondFactor:
                return try make { settings in
                    settings.secondFactor.demand = .required
                    settings.secondFactor.roles = ["editor"]
                    settings.secondFactor.trustedDeviceDays = 30
                }
            case .finishing:
                return try make([targets[0]], use: .finishing(.shown)) { settings in
                    settings.secondFactor.demand = .optional
                    settings.secondFactor.trustedDeviceDays = 30
                }
            case .enrolling:
                return try make([targets[0]], use: .finishing(.enrolled)) { $0.secondFactor.demand = .required }
            case .refusedOnce:
                return try make([targets[0]], use: .once) {
                    ($0.multipleLogins, $0.sessionLimitBehavior) = (false, .refuse)
                }
            }
        }

        private func make(
            _ targets: [LoginStatement.Target] = [],
            tokens: TokenKeeping? = nil,
            use: LoginStatement.Use = .repeated,
            _ change: (inout ApplicationSettings) -> Void = { _ in }
        ) throws -> LoginStatement {
            LoginStatement(
                application: try GoldenStatementTests.application(change),
                provider: ProviderName(known: "staff-sso"),
                tokens: tokens,
                targets: targets,
                use: use
            )
        }
    }

    @Test("of logins", arguments: Login.allCases)
    func login(_ variant: Login) throws {
        let statement = try variant.statement()
        let text = LoginText(statement.form).statement
        try compare(text, with: "login-\(variant)")
    }

    @Test("of a profile that is read without a login")
    func refresh() throws {
        let application = try Self.application()
        let text = ProfileRefreshStatement.text(
            application: application,
            targets: Self.targets,
            columns: UserColumns(application: application)
        )
        try compare(text, with: "profile-refresh")
    }

    @Test("of a login by a password that may be refused for the sessions there are")
    func refusedPassword() throws {
        let application = try Self.application { ($0.maxSessions, $0.sessionLimitBehavior) = (5, .refuse) }
        let session = SessionOpening(
            user: ObjectID(UUID()),
            grounds: .password(EncryptedSecret(bytes: [], keyID: "")),
            login: "",
            tokenHash: [],
            previousTokenHash: nil
        )
        try compare(session.text(of: application), with: "password-refused")
    }

    @Test(
        "of a login by a password that waits for a second factor, and that one has finished",
        arguments: [true, false]
    )
    func factor(isShown: Bool) throws {
        let application = try Self.application { $0.secondFactor.demand = .required }
        let shown = FactorProof(user: nil, evidence: .shown(ShownFactor(id: ObjectID(UUID()))), guess: nil)
        let once = SingleUse(hash: [], issuedAt: 0, seconds: 0, owner: [], nonceHash: nil)
        let session = SessionOpening(
            user: ObjectID(UUID()),
            grounds: .password(EncryptedSecret(bytes: [], keyID: "")),
            login: "",
            tokenHash: [],
            previousTokenHash: nil,
            once: isShown ? once : nil,
            factor: isShown ? shown : nil
        )
        try compare(session.text(of: application), with: isShown ? "password-finishing" : "password-secondFactor")
    }

    @Test("of a login by a password, and of one that was confirmed by mail", arguments: [true, false])
    func password(wasAsked: Bool) throws {
        let application = try Self.application()
        let session = SessionOpening(
            user: ObjectID(UUID()),
            grounds: wasAsked ? .password(EncryptedSecret(bytes: [], keyID: "")) : .server,
            login: "",
            tokenHash: [],
            previousTokenHash: nil
        )
        let text = session.text(of: application)
        try compare(text, with: wasAsked ? "password-session" : "mailed-session")
    }

    @Test("of a login by a mailed link, which opens a family of refresh tokens")
    func link() throws {
        let session = SessionOpening(
            user: ObjectID(UUID()),
            grounds: .password(EncryptedSecret(bytes: [], keyID: "")),
            login: "",
            tokenHash: [],
            previousTokenHash: nil,
            once: SingleUse(hash: [], issuedAt: 0, seconds: 0, owner: [], nonceHash: nil),
            refreshToken: NewRefreshSecret(family: [], hash: [])
        )
        try compare(session.text(of: try Self.application()), with: "link-refreshFamily")
    }

    private func compare<Input>(_ text: SQL<Input>, with name: String) throws {
        let parameters = StatementTemplate(text).parameters.enumerated().map { "$\($0 + 1) \($1)" }
        let shown = "-- \(parameters.joined(separator: ", "))\n\(text)\n"
        let file = PackageLayout.path("Tests/StoreTests/Golden/\(name).sql")
        if ProcessInfo.processInfo.environment["REWRITE_GOLDEN"] != nil {
            try Data(shown.utf8).write(to: URL(filePath: file))
        }
        let golden = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        #expect(shown == golden, "\(name).sql is another: look at it with REWRITE_GOLDEN=1 and git diff")
    }
}
