import Accounts
import Applications
import Factors
import HTTP
import HTTPTypes
import Hummingbird
import Logging
import Notifications
import Vocabulary

/// The pages to which the links of mails lead: `/{applicationId}/reset-password`, `/{applicationId}/confirm-email`,
/// `/{applicationId}/undo-change` and `/{applicationId}/invitation`.
///
/// To look at one changes nothing, since programs that scan mails follow links; what the person then sends does. There
/// are no API keys in these paths. No base path of an application is as short, so the two do not meet.
struct LinkPages {
    let passwordReset: PasswordReset
    let confirmation: EmailConfirmation
    let reversal: ChangeReversal
    let registrations: Registrations
    let directory: ApplicationDirectory
    let refusals: RefusalLog
    let errors: any ErrorTable

    /// Bytes of the largest form.
    private static let formLimit = 65_536

    /// Mounts the routes below each of the first segments.
    func mount(on router: Router<APIContext>, below segments: [String]) {
        for first in segments {
            typealias Purpose = EmailTokenPurpose
            mount(Purpose.passwordReset.page, below: first, on: router, show: showReset, take: takeReset)
            mount(Purpose.confirmation.page, below: first, on: router, show: showConfirmation, take: takeConfirmation)
            mount(Purpose.reversal.page, below: first, on: router, show: showReversal, take: takeReversal)
            mount(MailedLinks.invitationPage, below: first, on: router, show: showInvitation, take: takeInvitation)
        }
    }

    private typealias Show =
        @Sendable (_ token: String, LoadedApplication, LinkPage) async throws(Failure) -> Response
    private typealias Take =
        @Sendable (FormFields, LoadedApplication, LinkPage, RequestSource, Logger) async throws(Failure) -> Response

    private func mount(
        _ segment: String,
        below first: String,
        on router: Router<APIContext>,
        show: @escaping Show,
        take: @escaping Take
    ) {
        let id: @Sendable (APIContext) -> Substring = { $0.parameters["applicationId"] ?? first[...] }
        router.get(RouterPath("/\(first)/\(segment)")) { request, context in
            await respond(to: request, id(context), context) { (loaded, page) throws(Failure) in
                try await show(try FormFields(request.uri.query ?? "").value("token") ?? "", loaded, page)
            }
        }
        router.post(RouterPath("/\(first)/\(segment)")) { request, context in
            await respond(to: request, id(context), context) { (loaded, page) throws(Failure) in
                let form = try await request.formBody(upTo: Self.formLimit)
                let source = RequestSource(name: context.peer.network.name)
                return try await take(form, loaded, page, source, context.logger)
            }
        }
    }

    /// A person looks at whatever comes of it, so failures are pages.
    @Sendable private func respond(
        to request: Request,
        _ id: Substring,
        _ context: APIContext,
        _ body: (LoadedApplication, LinkPage) async throws(Failure) -> Response
    ) async -> Response {
        var facts = RefusalLog.Facts()
        var page = WebPage(of: nil, for: request.headers)
        do throws(Failure) {
            let loaded = try directory.application(id: id)
            facts.application = loaded.application.id
            page = WebPage(of: loaded.application, for: request.headers)
            return try await body(loaded, LinkPage(of: loaded.application, page, errors: errors))
        } catch {
            return page.failure(refusals.logged(error, facts, in: context), .failed, by: errors)
        }
    }

    @Sendable private func showReset(
        _ token: String,
        _ loaded: LoadedApplication,
        _ page: LinkPage
    ) async throws(Failure) -> Response {
        let account = try await passwordReset.linkedAccount(token, for: .passwordReset, in: loaded)
        return page.passwordForm(token: token, account: account)
    }

    @Sendable private func takeReset(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ page: LinkPage,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let keepsIdentities = try form.value("keepIdentities") != nil
        return try await take(form, of: .passwordReset, from: source, in: loaded) { (token, factor) throws(Failure) in
            try await passwordReset.resetPassword(
                by: token,
                to: Secret(try form.value("password") ?? ""),
                keepingIdentities: keepsIdentities,
                showing: factor,
                in: loaded,
                logger: logger
            )
            return page.passwordIsSet()
        } form: { token, account, refusal in
            page.passwordForm(
                token: token,
                account: account,
                keepsIdentities: keepsIdentities,
                refusal: refusal
            )
        }
    }

    /// Does what a form says, or shows it once more: with another factor that is asked for, or with what was wrong.
    ///
    /// What waits for a factor is kept, so that a code that was sent still counts.
    private func take(
        _ form: FormFields,
        of purpose: EmailTokenPurpose,
        from source: RequestSource,
        in loaded: LoadedApplication,
        _ body: (_ token: String, LinkFactorAnswer) async throws(Failure) -> Response,
        form page: (_ token: String, LinkedAccount, _ refusal: Failure?) -> Response
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        func shown(_ wish: LinkFactorWish?, _ refusal: Failure? = nil) async throws(Failure) -> Response {
            let account = try await passwordReset.linkedAccount(token, for: purpose, asking: wish, in: loaded)
            return page(token, account, refusal)
        }
        do throws(Failure) {
            let (sends, chooses) = (try form.value("send") != nil, try form.value("choose") != nil)
            guard !sends, !chooses else {
                return try await shown(try LinkFactorWish(form, from: source, sends: sends))
            }
            return try await body(token, try LinkFactorAnswer(form, from: source))
        } catch {
            guard error.canBeAnsweredAnew else { throw error }
            let hasEnded = error.reason == .pendingSignInInvalid
            return try await shown(hasEnded ? nil : try LinkFactorWish(form, from: source, sends: false), error)
        }
    }

    @Sendable private func showConfirmation(
        _ token: String,
        _ loaded: LoadedApplication,
        _ page: LinkPage
    ) async throws(Failure) -> Response {
        let account = try await passwordReset.linkedAccount(token, for: .confirmation, in: loaded)
        return page.confirmationForm(token: token, account: account)
    }

    @Sendable private func takeConfirmation(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ page: LinkPage,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let keepsIdentities = try form.value("keepIdentities") != nil
        let choice = try ConfirmedPassword(
            known: try form.value("password"),
            new: try form.value("newPassword"),
            keepingIdentities: keepsIdentities
        )
        return try await take(form, of: .confirmation, from: source, in: loaded) { (token, factor) throws(Failure) in
            try await confirmation.confirmEmail(
                by: token,
                password: choice,
                showing: factor,
                in: loaded,
                logger: logger
            )
            return page.emailIsConfirmed()
        } form: { token, account, refusal in
            page.confirmationForm(
                token: token,
                account: account,
                keepsIdentities: keepsIdentities,
                refusal: refusal
            )
        }
    }

    @Sendable private func showReversal(
        _ token: String,
        _ loaded: LoadedApplication,
        _ page: LinkPage
    ) async throws(Failure) -> Response {
        let account = try await passwordReset.linkedAccount(token, for: .reversal, in: loaded)
        return page.reversalForm(token: token, account: account)
    }

    @Sendable private func takeReversal(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ page: LinkPage,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        try await take(form, of: .reversal, from: source, in: loaded) { (token, factor) throws(Failure) in
            let lost = try await reversal.undoChange(
                by: token,
                to: Secret(try form.value("password") ?? ""),
                showing: factor,
                in: loaded,
                logger: logger
            )
            return page.changeIsUndone(lost: lost.map { loaded.title(of: $0) })
        } form: { token, account, refusal in
            page.reversalForm(token: token, account: account, refusal: refusal)
        }
    }
}

extension LinkPages {
    @Sendable private func showInvitation(
        _ token: String,
        _ loaded: LoadedApplication,
        _ page: LinkPage
    ) async throws(Failure) -> Response {
        page.invitation(token: token, offer: try await registrations.offer(by: token, in: loaded))
    }

    /// Opens an account with a password; whatever the person can mend is said on the form.
    @Sendable private func takeInvitation(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ page: LinkPage,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        let offer = try await registrations.offer(by: token, in: loaded)
        var record = UserRecord(password: try form.value("password").map(JSONValue.string))
        record.locale = .string(page.language.rawValue)
        for name in [loaded.application.settings.identityProperty, .email] {
            guard let value = try form.value(name.text), !value.isEmpty else { continue }
            if record.properties[name.text] == nil { record.properties.append(name.text, .string(value)) }
        }
        do throws(Failure) {
            let made = try await registrations.register(
                record,
                invitation: InvitationToken(token),
                token: nil,
                from: source,
                in: loaded,
                logger: logger
            )
            return page.accountIsOpen(waitsForConfirmation: made.user.status == .emailConfirmationPending)
        } catch {
            switch error.reason {
            case .passwordNotAllowed, .passwordMissing, .loginTaken, .loginMissing, .emailInvalid, .propertyMissing,
                .rateLimited, .overloaded, .storeUnavailable:
                return page.invitation(token: token, offer: offer, record: record.properties, refusal: error.logged)
            default: throw error
            }
        }
    }
}

extension LinkFactorWish {
    /// What the form says of the factor that is asked for; nil where it knows of none.
    fileprivate init?(_ form: FormFields, from source: RequestSource, sends: Bool) throws(Failure) {
        let (sent, chosen, asked) = (try form.value("send"), try form.value("choose"), try form.value("factor"))
        guard let factor = (sent ?? chosen ?? asked).flatMap({ ObjectID($0) }), let pending = try form.value("pending")
        else { return nil }
        self.init(pending: pending, factor: factor, sends: sends, source: source)
    }
}

extension LinkFactorAnswer {
    fileprivate init(_ form: FormFields, from source: RequestSource) throws(Failure) {
        let factor = try form.value("factor").flatMap { ObjectID($0) }
        let response = FactorResponse(credential: try form.value("credential"), code: try form.value("code"))
        let shown = try form.value("pending").map { Shown(pending: $0, factor: factor, response: response) }
        self.init(shown, keyLabel: nil, source: source)
    }
}

extension Failure {
    /// Whether the person can do something about it on the same page.
    fileprivate var canBeAnsweredAnew: Bool {
        switch reason {
        case .passwordNotAllowed, .passwordMissing, .loginInvalid, .secondFactorRequired, .pendingSignInInvalid: true
        default: reason.leavesAnotherFactor
        }
    }
}
