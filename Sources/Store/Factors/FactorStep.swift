import Postgres
import Vocabulary

/// What a statement that logs a user in does about second factors: it asks for one, or it takes one that was shown.
///
/// Both are part of the statement, under its lock on the user: of a factor that counts once one statement gets it, and
/// nothing is written without.
struct FactorStep<Input> {
    private enum Part {
        /// Whether a factor is to be shown first.
        case asking
        /// It was shown, or one is enrolled.
        case finishing(FactorProof.Kind)
    }

    private let application: Application
    private let part: Part
    /// The id of the user as a scalar, NULL while there is none.
    private let user: SQL<Input>
    private let proof: @Sendable (Input) -> FactorProof?
    private let deviceHash: @Sendable (Input) -> [UInt8]?
    /// The hash of the session that is opened; nil where none is.
    private let opened: Parameter<Input>?
    /// Whether what waited for the factor is used for the first time.
    private let isFresh: SQL<Input>

    /// A step that asks for a factor; nil where nobody is asked.
    ///
    /// - Parameters:
    ///   - application: Says who is.
    ///   - method: By what somebody logs in.
    ///   - user: The id of the user as a scalar, NULL while there is none.
    ///   - deviceHash: SHA-256 of what the client says that its device is trusted by.
    init?(
        asking application: Application,
        method: ProviderName,
        user: SQL<Input>,
        deviceHash: @escaping @Sendable (Input) -> [UInt8]?
    ) {
        let policy = application.settings.secondFactor
        guard policy.demand != .off, !policy.vouchingProviders.contains(method) else { return nil }
        self.application = application
        part = .asking
        self.user = user
        proof = { _ in nil }
        self.deviceHash = deviceHash
        opened = nil
        isFresh = "true"
    }

    /// A step that takes what was shown, whatever the application asks for by now.
    ///
    /// - Parameters:
    ///   - application: Whose user it is.
    ///   - kind: Whether a factor was shown or is enrolled.
    ///   - user: The id of the user as a scalar, NULL while there is none.
    ///   - proof: What was shown; evidence of that kind.
    ///   - opened: The hash of the session that is opened; nil where none is.
    ///   - isFresh: Whether what waited for the factor is used for the first time: a repetition is one whose session is
    ///     there still.
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

    /// CTEs in front of what the login writes.
    ///
    /// - Parameters:
    ///   - conditions: What else must be true for the login to be written: a code is used up by no other.
    ///   - isThere: Whether a factor `f` counts.
    /// - Returns: What `requirements`, `refusal` and `consequences` refer to.
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

    /// What must be true for the login to be written.
    ///
    /// - Parameter conditions: Those of `expressions(if:)`.
    /// - Returns: They and the step's own; of a factor that was used up the latter alone, since it was so under them.
    func requirements(beside conditions: [SQL<Input>]) -> [SQL<Input>] {
        if case .finishing(.shown) = part { [isSatisfied] } else { conditions + [isSatisfied] }
    }

    /// Whether the factor does not stand in the way.
    private var isSatisfied: SQL<Input> {
        switch part {
        case .asking: "(select factor.demand from factor) is null"
        case .finishing(.shown): "exists (select from factor)"
        case .finishing(.enrolled): "(select factor.is_new from factor)"
        }
    }

    /// The part of a CASE that names what stands in the way.
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

    /// CTEs over `person`, whose `object_id` is the user's: what follows from a login that was finished.
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

    /// The device counts from now on, where the application trusts any.
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

    /// A CTE over `person` that takes the guess back.
    ///
    /// The factor's waits end with it; the other guesses of the day stay counted, or whoever guesses would start anew
    /// with each login of the owner's.
    var forgiving: SQL<Input> {
        """
        forgiven as (
            update \(schema).attempts
            set failures = 0, recent = greatest(recent - 1, 0), blocked_until = to_timestamp(0)
            where key = \(guessedAt) and exists (select from person)
        )
        """
    }

    /// The columns of a session that say what it was opened with, and their values.
    var sessionColumns: [(name: SQL<Input>, value: SQL<Input>)] {
        switch part {
        case .asking: []
        case .finishing(.shown): [("factor_kind", "(select factor.kind from factor)"), ("factor_proved", "now()")]
        case .finishing(.enrolled): [("factor_kind", "\(kind)"), ("factor_proved", "now()")]
        }
    }

    /// Whether the same attempt was written before, its client having lost the reply: its session is there.
    private var isRepeated: SQL<Input> {
        guard let opened else { return "false" }
        return """
            exists (
                select from \(schema).sessions s where s.token_hash = \(opened) and s.object_id = \(user)
            )
            """
    }

    /// Whether the login is still that of the user who was found when it was put off.
    private var isUser: SQL<Input> { "(\(user) is not distinct from \(putOff) or \(isRepeated))" }

    /// Whether the passkey that is enrolled is a factor already: a credential is one user's.
    private var isTaken: SQL<Input> {
        """
        exists (
            select from \(schema).factors f
            where f.credential_id = \(credential) and f.removed is null and f.id <> \(enrolled)
        )
        """
    }

    private var hasFactor: SQL<Input> { FactorStep.hasFactor(user, in: application) }

    /// The same, seen under the lock on the user: what a simultaneous login has enrolled before it gave up that lock,
    /// the statement itself does not see.
    private var hasFactorByNow: SQL<Input> {
        let kinds = application.settings.secondFactor.factors.filter(\.standsAlone)
            .map { "\(literal: $0.rawValue)" as SQL<Input> }
        guard !kinds.isEmpty else { return "false" }
        return """
            federation.has_factor(\(literal: application.schema), \(user), array[\(kinds.joined(separator: ", "))])
            """
    }

    /// Whether a user has a factor `f` that the application takes, and of which a condition is true: that it is there.
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

    /// Whether a user has a factor that the application asks for.
    static func isAsked(_ user: SQL<Input>, in application: Application) -> SQL<Input> {
        application.settings.secondFactor.demand == .off ? "false" : hasFactor(user, in: application)
    }

    /// What is demanded of who has a factor: nothing on a device that has shown one of late.
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

    /// The part of the CASE that demands an enrolment.
    private var ifRequired: SQL<Input> {
        Self.isRequired(user, in: application).map { "when \($0) then \(literal: FactorDemand.enrolment.rawValue)" }
            ?? ""
    }

    /// Whether the application requires a factor of a user; nil where it requires none of anybody.
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

/// What stands between a login and its write, as statements name it.
enum FactorDemand: String {
    /// A factor is to be shown.
    case factor
    /// There is none, and one is to be enrolled.
    case enrolment
    /// What was shown does not count any more, or the login is another user's by now.
    case unusable
    /// What is to be enrolled is a factor already.
    case taken
}

extension FactorDemand {
    var failure: Failure {
        switch self {
        case .factor: Failure(.secondFactorRequired, Self.message)
        case .enrolment:
            Failure(
                .secondFactorEnrolmentRequired,
                "This app asks for a second factor, and this account has none yet. Set one up to finish the login; if this app does not offer that, update it."
            )
        case .unusable:
            Failure(
                .pendingSignInInvalid,
                "This cannot be finished any more: what it was begun with has changed, or the code has been used. Begin it anew."
            )
        case .taken: .factorTaken
        }
    }

    private static var message: String {
        "This account is protected by a second factor. Show it to finish the login; if this app does not ask you for it, update it."
    }
}

// MARK: - The values

extension FactorStep {
    private func value(
        _ name: String,
        as type: String,
        _ bind: @escaping @Sendable (FactorProof) -> Bind?,
        none: Bind.NullType
    ) -> Parameter<Input> {
        let proof = proof
        return Parameter(name, as: type) { proof($0).flatMap(bind) ?? .null(none) }
    }

    private var trusted: Parameter<Input> {
        let deviceHash = deviceHash
        return Parameter("device_hash", as: "bytea") { deviceHash($0).map(Bind.bytes) ?? .null(.bytes) }
    }

    private var putOff: Parameter<Input> {
        value("put_off_user", as: "uuid", { $0.user.map { .uuid($0.uuid) } }, none: .uuid)
    }
    private var shown: Parameter<Input> {
        value("factor_id", as: "uuid", { $0.shown.map { .uuid($0.id.uuid) } }, none: .uuid)
    }
    private var step: Parameter<Input> {
        value("factor_step", as: "bigint", { $0.shown?.step.map(Bind.int64) }, none: .int64)
    }
    private var code: Parameter<Input> {
        value("factor_code", as: "text", { $0.shown?.code.map(Bind.text) }, none: .text)
    }
    private var signCount: Parameter<Input> {
        value("factor_sign_count", as: "bigint", { $0.shown?.signCount.map(Bind.int64) }, none: .int64)
    }
    private var enrolled: Parameter<Input> {
        value("new_factor", as: "uuid", { $0.enrolled.map { .uuid($0.id.uuid) } }, none: .uuid)
    }
    private var kind: Parameter<Input> {
        value("new_factor_kind", as: "text", { $0.enrolled.map { .text($0.kind.rawValue) } }, none: .text)
    }
    private var label: Parameter<Input> {
        value("new_factor_label", as: "text", { $0.enrolled?.label.map(Bind.text) }, none: .text)
    }
    private var secret: Parameter<Input> {
        value("new_factor_secret", as: "bytea", { $0.enrolled?.secret.map { .bytes($0.bytes) } }, none: .bytes)
    }
    private var secretKey: Parameter<Input> {
        value("new_factor_secret_key", as: "text", { $0.enrolled?.secret.map { .text($0.keyID) } }, none: .text)
    }
    private var firstStep: Parameter<Input> {
        value("new_factor_step", as: "bigint", { $0.enrolled?.step.map(Bind.int64) }, none: .int64)
    }
    private var credential: Parameter<Input> {
        value("credential_id", as: "bytea", { $0.enrolled?.passkey.map { .bytes($0.credentialID) } }, none: .bytes)
    }
    private var publicKey: Parameter<Input> {
        value("public_key", as: "bytea", { $0.enrolled?.passkey.map { .bytes($0.publicKey) } }, none: .bytes)
    }
    private var firstCount: Parameter<Input> {
        value("sign_count", as: "bigint", { .int64($0.enrolled?.passkey?.signCount ?? 0) }, none: .int64)
    }
    private var backupEligible: Parameter<Input> {
        value("backup_eligible", as: "boolean", { .bool($0.enrolled?.passkey?.isBackupEligible ?? false) }, none: .bool)
    }
    private var transports: Parameter<Input> {
        value("transports", as: "text[]", { .texts($0.enrolled?.passkey?.transports ?? []) }, none: .texts)
    }
    private var recovery: Parameter<Input> {
        value("recovery_factor", as: "uuid", { $0.recoveryCodes.map { .uuid($0.id.uuid) } }, none: .uuid)
    }
    private var recoveryCodes: Parameter<Input> {
        value("recovery_codes", as: "text[]", { .texts($0.recoveryCodes?.codes ?? []) }, none: .texts)
    }
    private var device: Parameter<Input> {
        value("new_device", as: "bytea", { $0.device.map { .bytes($0.tokenHash) } }, none: .bytes)
    }
    private var deviceDays: Parameter<Input> {
        value("device_days", as: "bigint", { $0.device.map { .int64($0.days) } }, none: .int64)
    }

    private var guessedAt: Parameter<Input> {
        value("guess", as: "bytea", { $0.guess.map(Bind.bytes) }, none: .bytes)
    }
}

extension FactorProof {
    fileprivate var shown: ShownFactor? {
        guard case .shown(let factor) = evidence else { return nil }
        return factor
    }

    /// What the person enrols; nil where a factor was shown.
    package var enrolled: NewFactor? {
        guard case .enrolled(let factor) = evidence else { return nil }
        return factor
    }
}
