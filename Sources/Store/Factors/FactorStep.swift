import Domain
import Postgres

/// Generates the part of a login's SQL statement that concerns second factors.
///
/// This part requires a factor, uses up a factor that the user has presented, or enrols a new one. It runs while the
/// statement holds the lock on the user's row. So only one statement can use up a single-use factor, and without the
/// factor nothing is written.
struct FactorStep<Input> {
    private enum Part {
        /// The step checks whether the login needs a factor.
        case asking
        /// The step uses up a presented factor, or enrols a new one.
        case finishing(FactorProof.Kind)
    }

    private let application: Application
    private let part: Part
    /// The id of the user as a scalar SQL expression.
    ///
    /// It is NULL while there is no user.
    private let user: SQL<Input>
    private let proof: @Sendable (Input) -> FactorProof?
    private let deviceHash: @Sendable (Input) -> [UInt8]?
    /// The hash of the new session's token; nil if no session is opened.
    private let opened: Parameter<Input>?
    /// The SQL condition that the pending login is used for the first time.
    private let isFresh: SQL<Input>

    /// Creates the step of a login without a second factor, which checks whether the login needs one.
    ///
    /// The result is nil if the application's policy requires no second factors, or exempts the logins of this
    /// provider.
    ///
    /// - Parameters:
    ///   - application: The application, with its policy.
    ///   - method: The provider of the login.
    ///   - user: The id of the user as a scalar SQL expression, NULL while there is no user.
    ///   - deviceHash: Returns the SHA-256 hash of the client's device token.
    init?(
        asking application: Application,
        method: ProviderName,
        user: SQL<Input>,
        deviceHash: @escaping @Sendable (Input) -> [UInt8]?
    ) {
        let policy = application.settings.secondFactor
        guard policy.demand != .off, !policy.exemptProviders.contains(method) else { return nil }
        self.application = application
        part = .asking
        self.user = user
        proof = { _ in nil }
        self.deviceHash = deviceHash
        opened = nil
        isFresh = "true"
    }

    /// Creates the step of a login with a second factor, which accepts the factor even if the application no longer
    /// requires one.
    ///
    /// - Parameters:
    ///   - application: The user's application.
    ///   - kind: Whether a factor was presented or is enrolled.
    ///   - user: The id of the user as a scalar SQL expression, NULL while there is no user.
    ///   - proof: Returns the factor. Its evidence is of the given kind.
    ///   - opened: The hash of the new session's token; nil if no session is opened.
    ///   - isFresh: Whether the pending login is used for the first time. A repetition is accepted only if its session
    ///     exists.
    init(
        finishing application: Application,
        by kind: FactorProof.Kind,
        user: SQL<Input>,
        proof: @escaping @Sendable (Input) -> FactorProof?,
        opened: Parameter<Input>? = nil,
        isFresh: SQL<Input> = "true"
    ) {
        self.application = application
        part = .finishing(kind)
        self.user = user
        self.proof = proof
        deviceHash = { _ in nil }
        self.opened = opened
        self.isFresh = isFresh
    }

    private var schema: SQL<Input> { "\(identifier: application.schema)" }

    /// Returns the CTEs that precede the login's writes.
    ///
    /// - Parameters:
    ///   - conditions: The other conditions of the login. A login that does not satisfy them uses up no factor.
    ///   - isThere: The condition that a presented factor `f` must satisfy.
    /// - Returns: The CTEs that `requirements`, `refusal` and `consequences` refer to.
    func expressions(if conditions: [SQL<Input>], isThere: SQL<Input> = "f.removed is null") -> SQL<Input> {
        switch part {
        case .asking:
            return """
                factor as (
                    select case
                        when \(hasFactor) then \(ifNotTrusted)
                        \(ifRequired)
                    end as demand
                )
                """
        case .finishing(.enrolled):
            return """
                factor as (
                    select \(isUser) and not \(isTaken) and (
                        \(isFresh) and not \(hasFactorByNow)
                        or \(isRepeated) and exists (
                            select from \(schema).factors f where f.id = \(enrolled) and f.object_id = \(user)
                        )
                    ) as is_new
                )
                """
        case .finishing(.shown):
            let conditions = conditions.map { "\nand \($0)" as SQL<Input> }.joined(separator: "")
            return """
                factor as (
                    update \(schema).factors f set
                        used = now(), step = greatest(f.step, \(step)),
                        sign_count = greatest(f.sign_count, \(signCount)), codes = array_remove(f.codes, \(code))
                    where f.id = \(shown) and f.object_id = \(user) and \(isThere)
                        and \(isUser)\(conditions)
                        and (
                            \(isFresh) and (\(step) is null or f.step < \(step))
                            and (\(code) is null or \(code) = any (f.codes))
                            and (\(signCount) is null or f.sign_count < \(signCount) or f.sign_count = 0 and \(signCount) = 0)
                            or \(isRepeated)
                        )
                    returning f.id, f.kind
                )
                """
        }
    }

    /// Returns the SQL conditions under which the statement writes the login.
    ///
    /// - Parameter conditions: The conditions passed to `expressions(if:)`.
    /// - Returns: The given conditions and the step's own condition. If a factor was presented, only the step's own:
    ///   `expressions(if:)` has already checked the others.
    func requirements(beside conditions: [SQL<Input>]) -> [SQL<Input>] {
        if case .finishing(.shown) = part { [isSatisfied] } else { conditions + [isSatisfied] }
    }

    /// The SQL condition that the factor permits the login.
    private var isSatisfied: SQL<Input> {
        switch part {
        case .asking: "(select factor.demand from factor) is null"
        case .finishing(.shown): "exists (select from factor)"
        case .finishing(.enrolled): "(select factor.is_new from factor)"
        }
    }

    /// The branches of a SQL CASE that name the obstacle to the login (`FactorDemand`).
    var refusal: SQL<Input> {
        switch part {
        case .asking:
            "when (select factor.demand from factor) is not null then (select factor.demand from factor)"
        case .finishing(.shown): "when not \(isSatisfied) then \(literal: FactorDemand.unusable.rawValue)"
        case .finishing(.enrolled):
            """
            when \(isTaken) then \(literal: FactorDemand.taken.rawValue)
            when not \(isSatisfied) then \(literal: FactorDemand.unusable.rawValue)
            """
        }
    }

    /// The CTEs that store the effects of a verified factor; nil if the step only asks for a factor.
    ///
    /// They read the CTE `person`, whose `object_id` is the user's.
    var consequences: SQL<Input>? {
        switch part {
        case .asking: return nil
        case .finishing(.shown): return [trusting, forgiving].compactMap(\.self).joined(separator: ", ")
        case .finishing(.enrolled): return [enrolling, trusting].compactMap(\.self).joined(separator: ", ")
        }
    }

    private var enrolling: SQL<Input> {
        """
        enrolled as (
            insert into \(schema).factors (id, object_id, kind, label, secret, secret_key_id, step,
                credential_id, public_key, sign_count, backup_eligible, transports, used)
            select \(enrolled), object_id, \(kind), \(label), \(secret), \(secretKey), coalesce(\(firstStep), -1),
                \(credential), \(publicKey), \(firstCount), \(backupEligible), \(transports), now()
            from person
            on conflict (id) do nothing
        ), former_codes as (
            update \(schema).factors f set removed = now()
            where f.object_id = (select person.object_id from person where \(recovery) is not null)
                and f.kind = \(literal: FactorKind.recoveryCode.rawValue) and f.removed is null
        ), recovery as (
            insert into \(schema).factors (id, object_id, kind, codes)
            select \(recovery), object_id, \(literal: FactorKind.recoveryCode.rawValue), \(recoveryCodes)
            from person where \(recovery) is not null
            on conflict (id) do nothing
        )
        """
    }

    /// The CTE that stores the device as trusted; nil if the application trusts no devices.
    private var trusting: SQL<Input>? {
        guard application.settings.secondFactor.trustedDeviceDays > 0 else { return nil }
        return """
            device as (
                insert into \(schema).trusted_devices (token_hash, object_id, expires)
                select \(device), object_id, now() + make_interval(days => \(deviceDays)::int)
                from person where \(device) is not null
                on conflict (token_hash) do nothing
            )
            """
    }

    /// A CTE that takes the user's last guess out of the count and ends the factor's lockout.
    ///
    /// It has an effect only if the CTE `person` has a row. The other guesses of the day stay counted. Otherwise an
    /// attacker would get the full number of guesses again after each login of the user.
    var forgiving: SQL<Input> {
        """
        forgiven as (
            update \(schema).attempts
            set failures = 0, recent = greatest(recent - 1, 0), blocked_until = to_timestamp(0)
            where key = \(guessedAt) and exists (select from person)
        )
        """
    }

    /// The columns of a session that record the factor, with their values.
    var sessionColumns: [(name: SQL<Input>, value: SQL<Input>)] {
        switch part {
        case .asking: []
        case .finishing(.shown): [("factor_kind", "(select factor.kind from factor)"), ("factor_proved", "now()")]
        case .finishing(.enrolled): [("factor_kind", "\(kind)"), ("factor_proved", "now()")]
        }
    }

    /// The SQL condition that the session exists already, because the client repeats a login whose response it lost.
    private var isRepeated: SQL<Input> {
        guard let opened else { return "false" }
        return """
            exists (
                select from \(schema).sessions s where s.token_hash = \(opened) and s.object_id = \(user)
            )
            """
    }

    /// The SQL condition that the same user began the pending login, or that the client repeats the login.
    private var isUser: SQL<Input> { "(\(user) is not distinct from \(putOff) or \(isRepeated))" }

    /// The SQL condition that the passkey to enrol is stored already, as another factor.
    ///
    /// The service refuses the passkey then, since a passkey belongs to one user only.
    private var isTaken: SQL<Input> {
        """
        exists (
            select from \(schema).factors f
            where f.credential_id = \(credential) and f.removed is null and f.id <> \(enrolled)
        )
        """
    }

    private var hasFactor: SQL<Input> { FactorStep.hasFactor(user, in: application) }

    /// The SQL condition that the user has a factor by now, evaluated by a function.
    ///
    /// The statement's own snapshot lacks a factor that a concurrent login enrolled while this statement waited for the
    /// lock on the user's row. The function sees that factor.
    private var hasFactorByNow: SQL<Input> {
        let kinds = application.settings.secondFactor.factors.filter(\.standsAlone)
            .map { "\(literal: $0.rawValue)" as SQL<Input> }
        guard !kinds.isEmpty else { return "false" }
        return """
            federation.has_factor(\(literal: application.schema), \(user), array[\(kinds.joined(separator: ", "))])
            """
    }

    /// Returns the SQL condition that a user has a factor `f` that the application accepts and that satisfies
    /// `condition`.
    static func hasFactor(
        _ user: SQL<Input>,
        if condition: SQL<Input> = "f.removed is null",
        in application: Application
    ) -> SQL<Input> {
        let kinds = application.settings.secondFactor.factors.filter(\.standsAlone)
            .map { "\(literal: $0.rawValue)" as SQL<Input> }
        guard !kinds.isEmpty else { return "false" }
        return """
            exists (
                select from \(identifier: application.schema).factors f
                where f.object_id = \(user) and f.kind in (\(kinds.joined(separator: ", "))) and \(condition)
            )
            """
    }

    /// Returns the SQL condition that a user is asked for a second factor: the user has one, and the policy is not
    /// `off`.
    static func isAsked(_ user: SQL<Input>, in application: Application) -> SQL<Input> {
        application.settings.secondFactor.demand == .off ? "false" : hasFactor(user, in: application)
    }

    /// The SQL expression that demands a factor of a user who has one.
    ///
    /// It is NULL on a trusted device.
    private var ifNotTrusted: SQL<Input> {
        let word: SQL<Input> = "\(literal: FactorDemand.factor.rawValue)"
        guard application.settings.secondFactor.trustedDeviceDays > 0 else { return word }
        return """
            case when not exists (
                select from \(schema).trusted_devices d
                where d.token_hash = \(trusted) and d.object_id = \(user) and d.expires > now()
            ) then \(word) end
            """
    }

    /// The branch of a SQL CASE that demands an enrolment; empty if the application requires no factor of any user.
    private var ifRequired: SQL<Input> {
        Self.isRequired(user, in: application).map { "when \($0) then \(literal: FactorDemand.enrolment.rawValue)" }
            ?? ""
    }

    /// Returns the SQL condition that a user must have a second factor; nil if the application requires none of any
    /// user.
    static func isRequired(_ user: SQL<Input>, in application: Application) -> SQL<Input>? {
        let policy = application.settings.secondFactor
        guard policy.demand == .required else { return nil }
        guard !policy.roles.isEmpty else { return "true" }
        let roles = policy.roles.map { "\(literal: $0)" as SQL<Input> }.joined(separator: ", ")
        return """
            exists (
                select from \(identifier: application.schema).user_roles r
                where r.object_id = \(user) and r.role in (\(roles))
            )
            """
    }
}

/// The reasons why second factors prevent a login; the raw values are their names in SQL statements.
enum FactorDemand: String {
    /// The user must present a factor.
    case factor
    /// The user has no factor and must enrol one.
    case enrolment
    /// The presented factor is not valid any more, or the login belongs to another user by now.
    case unusable
    /// The passkey to enrol is already a user's factor.
    case taken
}

extension FactorDemand {
    var failure: Failure {
        switch self {
        case .factor: Failure(.secondFactorRequired, Self.message)
        case .enrolment:
            Failure(
                .secondFactorEnrolmentRequired,
                """
                This app requires a second factor, and this account has none yet. Set one up to finish the login. If \
                this app does not offer that, update it.
                """
            )
        case .unusable:
            Failure(
                .pendingLoginInvalid,
                """
                This pending login or step-up is no longer valid: the account has changed, or the code has been used. \
                Start again.
                """
            )
        case .taken: .factorTaken
        }
    }

    private static var message: String {
        "This account needs a second factor to finish the login. If this app does not ask for it, update it."
    }
}

// MARK: - The values

extension FactorStep {
    private func value<Value: PostgresValue>(
        _ name: String,
        as type: String,
        _ value: @escaping @Sendable (FactorProof) -> Value?
    ) -> Parameter<Input> {
        let proof = proof
        return Parameter(name, as: type, of: { proof($0).flatMap(value) })
    }

    private var trusted: Parameter<Input> { Parameter("device_hash", as: "bytea", of: deviceHash) }

    private var putOff: Parameter<Input> { value("put_off_user", as: "uuid", \.user) }
    private var shown: Parameter<Input> { value("factor_id", as: "uuid") { $0.shown?.id } }
    private var step: Parameter<Input> { value("factor_step", as: "bigint") { $0.shown?.step } }
    private var code: Parameter<Input> { value("factor_code", as: "text") { $0.shown?.code } }
    private var signCount: Parameter<Input> { value("factor_sign_count", as: "bigint") { $0.shown?.signCount } }
    private var enrolled: Parameter<Input> { value("new_factor", as: "uuid") { $0.enrolled?.id } }
    private var kind: Parameter<Input> { value("new_factor_kind", as: "text") { $0.enrolled?.kind.rawValue } }
    private var label: Parameter<Input> { value("new_factor_label", as: "text") { $0.enrolled?.label } }
    private var secret: Parameter<Input> { value("new_factor_secret", as: "bytea") { $0.enrolled?.secret?.bytes } }
    private var secretKey: Parameter<Input> {
        value("new_factor_secret_key", as: "text") { $0.enrolled?.secret?.keyID }
    }
    private var firstStep: Parameter<Input> { value("new_factor_step", as: "bigint") { $0.enrolled?.step } }
    private var credential: Parameter<Input> {
        value("credential_id", as: "bytea") { $0.enrolled?.passkey?.credentialID }
    }
    private var publicKey: Parameter<Input> { value("public_key", as: "bytea") { $0.enrolled?.passkey?.publicKey } }
    private var firstCount: Parameter<Input> {
        value("sign_count", as: "bigint") { $0.enrolled?.passkey?.signCount ?? 0 }
    }
    private var backupEligible: Parameter<Input> {
        value("backup_eligible", as: "boolean") { $0.enrolled?.passkey?.isBackupEligible ?? false }
    }
    private var transports: Parameter<Input> {
        value("transports", as: "text[]") { $0.enrolled?.passkey?.transports ?? [] }
    }
    private var recovery: Parameter<Input> { value("recovery_factor", as: "uuid") { $0.recoveryCodes?.id } }
    private var recoveryCodes: Parameter<Input> {
        value("recovery_codes", as: "text[]") { $0.recoveryCodes?.codes ?? [] }
    }
    private var device: Parameter<Input> { value("new_device", as: "bytea") { $0.device?.tokenHash } }
    private var deviceDays: Parameter<Input> { value("device_days", as: "bigint") { $0.device?.days } }

    private var guessedAt: Parameter<Input> { value("guess", as: "bytea", \.guess) }
}

extension FactorProof {
    fileprivate var shown: ShownFactor? {
        guard case .shown(let factor) = evidence else { return nil }
        return factor
    }

    /// The factor that the user enrols; nil if a factor was presented.
    package var enrolled: NewFactor? {
        guard case .enrolled(let factor) = evidence else { return nil }
        return factor
    }
}
