package import Applications
import Crypto
package import Domain
package import Messaging
import OneTimeCodes
import Secrets
import Store

/// Sends one-time codes to users, by SMS or mail.
package struct CodeDelivery: Sendable {
    let attempts: AttemptCounter
    let queue: MailQueue
    /// Sends text messages; nil if the deployment sends none.
    let gateway: SMSGateway?
    let limits: Limits
    let random: RandomSource

    package init(
        attempts: AttemptCounter,
        queue: MailQueue,
        gateway: SMSGateway?,
        limits: Limits,
        random: RandomSource
    ) {
        self.attempts = attempts
        self.queue = queue
        self.gateway = gateway
        self.limits = limits
        self.random = random
    }

    /// Returns whether the deployment can send codes of a kind.
    func canSend(_ kind: FactorKind) -> Bool { kind == .sms ? gateway != nil : queue.canSendMail }

    /// The purpose of a code.
    enum Purpose {
        /// The user must enter the code of a second factor that is already enrolled.
        case showing
        /// The user with this id enrols a telephone or a mailbox, which may belong to another human.
        case enrolment(by: ObjectID)
        /// The user connects the account with a first login by the provider with this displayed name.
        case connecting(provider: String)
    }

    /// Sends a user the one-time code of a second factor, by SMS or mail.
    ///
    /// - Parameters:
    ///   - occasion: The login, step-up or enrolment that the code is valid for.
    ///   - factor: The id of the factor.
    ///   - kind: The kind of delivery.
    ///   - target: The telephone number or the e-mail address to which the code goes.
    ///   - purpose: The purpose of the code; codes for enrolment do not use up the limits of codes for logins.
    ///   - user: The user, if the user exists already.
    ///   - seconds: The seconds until the code's expiry.
    ///   - source: The source of the request.
    ///   - loaded: The application.
    /// - Throws: `too_many_attempts` beyond the limits of text messages or of a mailbox; `factor_not_offered` for a
    ///   number that may get no code; `code_not_delivered`, `mail_off`.
    func send(
        _ occasion: FactorOccasion,
        of factor: ObjectID,
        by kind: FactorKind,
        to target: String,
        for purpose: Purpose,
        user: User?,
        seconds: Int64,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        let code = occasion.code(of: factor)
        switch kind {
        case .sms: try await text(code, to: target, for: purpose, user: user, from: source, in: loaded)
        case .email:
            let minutes = Int(clamping: seconds / 60)
            try await mail(code, minutes: minutes, to: target, for: purpose, user: user, from: source, in: loaded)
        case .totp, .recoveryCode, .passkey: break
        }
    }

    private func text(
        _ code: Secret,
        to target: String,
        for purpose: Purpose,
        user: User?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard let gateway else { throw .smsOff }
        let policy = loaded.application.settings.secondFactor.sms
        guard let number = try? PhoneNumber(target), number.isAllowed(by: policy.prefixes) else {
            throw .numberNotServed
        }
        let rules = AttemptRule.messages(policy)
        let bySource = AttemptCount(for: Digest.sha256("messages from \(source.name)"), by: rules.source)
        let all = AttemptCount(for: Digest.sha256("messages"), by: rules.all)
        switch purpose {
        case .showing, .connecting:
            let toNumber = AttemptCount(for: Digest.sha256("messages to \(number.text)"), by: rules.number)
            try await count([bySource, toNumber, all], in: loaded)
        case .enrolment:
            let enrolments = AttemptCount(for: Digest.sha256("messages that enrol"), by: rules.enrolments)
            try await count([bySource] + purpose.counts(to: number.text) + [enrolments, all], in: loaded)
        }
        let message = TextMessage(
            code,
            to: number,
            id: random.objectID(),
            application: loaded.application.id,
            name: loaded.application.name,
            host: loaded.application.settings.secondFactor.passkeys.relyingPartyID,
            locale: user?.locale
        )
        switch await gateway.send(message) {
        case .taken: return
        case .refused(let problem):
            throw Failure(
                .codeNotDelivered,
                "No code can be sent to this number. Use another second factor.",
                cause: problem
            )
        case .unreachable(let problem):
            throw Failure(
                .codeNotDelivered,
                "The code could not be sent to this number. Try again shortly, or use another second factor.",
                retryAfter: 5,
                cause: problem
            )
        }
    }

    private func mail(
        _ code: Secret,
        minutes: Int,
        to target: String,
        for purpose: Purpose,
        user: User?,
        from source: RequestSource,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard queue.canSendMail else { throw .mailOff }
        guard let email = EmailAddress(target) else { throw .noAddress }
        let (mail, counts): (Mail, [AttemptCount]) =
            switch purpose {
            case .showing:
                (
                    .factorCode(code: code, minutes: minutes, enrols: false, name: user?.name),
                    AttemptCount.codes(to: email, from: source)
                )
            case .enrolment:
                (
                    .factorCode(code: code, minutes: minutes, enrols: true, name: user?.name),
                    [AttemptCount.mails(from: source)] + purpose.counts(to: email.mailbox)
                )
            case .connecting(let provider):
                (
                    .accountCode(code: code, minutes: minutes, provider: provider, name: user?.name),
                    // Nobody has shown a factor yet. So these mails do not use up those that users need to log in.
                    AttemptCount.mails(Mail.Template.accountCode.rawValue, to: email, from: source.name)
                )
            }
        try await count(counts, in: loaded)
        try await queue.enqueue(
            mail,
            event: "\(mail.template.rawValue)/\(random.objectID())",
            to: target,
            locale: user?.locale,
            user: user?.objectID,
            of: loaded
        )
    }

    private func count(_ counts: [AttemptCount], in loaded: LoadedApplication) async throws(Failure) {
        let refusal = try await attempts.count(counts, of: loaded.application, before: .now + limits.login)
        guard let seconds = refusal?.seconds else { return }
        throw Failure(
            .tooManyAttempts,
            "Too many codes were sent. Wait \(seconds) seconds, or use another method.",
            retryAfter: seconds
        )
    }
}

extension CodeDelivery.Purpose {
    /// Returns the counters for a code that enrols a factor: one for the user, and one for the telephone number or
    /// address.
    ///
    /// Returns none for any other code.
    fileprivate func counts(to target: String) -> [AttemptCount] {
        guard case .enrolment(let user) = self else { return [] }
        return [
            AttemptCount(for: Digest.sha256("codes that enrol, by \(user)"), by: .enrolmentsByUser),
            AttemptCount(for: Digest.sha256("codes that enrol \(target)"), by: .enrolmentsOfTarget),
        ]
    }
}

extension FactorOccasion {
    /// Returns the one-time code of a factor; it is valid only for the login, step-up or enrolment of this occasion.
    func code(of factor: ObjectID) -> Secret { codes.code(for: factor.handle) }

    func isCode(_ text: String, of factor: ObjectID) -> Bool { codes.isCode(text, for: factor.handle) }

    private var codes: DeliveredCodes { DeliveredCodes(key: SymmetricKey(data: bytes)) }
}

extension Failure {
    static let smsOff = Failure(
        .factorNotOffered,
        "This service cannot send SMS. The operator can set a gateway with FEDERATION_SMS_URL."
    )
    static let numberNotServed = Failure(
        .factorNotOffered,
        """
        This app does not send codes to this number. Write the number with + and the country code, or choose another \
        second factor.
        """
    )
    static let noAddress = Failure(
        .emailInvalid,
        "A code by e-mail needs an address. Send it as \"email\"."
    )
}
