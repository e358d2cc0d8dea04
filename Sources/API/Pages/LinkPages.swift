import Accounts
import Applications
import HTTP
import HTTPTypes
import Hummingbird
import Logging
import Notifications
import Vocabulary

/// The pages to which the links of mails lead: `/{applicationId}/reset-password`, `/{applicationId}/confirm-email` and
/// `/{applicationId}/undo-change`.
///
/// To look at one changes nothing, since programs that scan mails follow links; what the person then sends does. There
/// are no API keys in these paths. No base path of an application is as short, so the two do not meet.
struct LinkPages {
    let passwordReset: PasswordReset
    let confirmation: EmailConfirmation
    let reversal: ChangeReversal
    let directory: ApplicationDirectory
    let refusals: RefusalLog
    let page: LinkPage

    /// Bytes of the largest form.
    private static let formLimit = 8192

    /// Mounts the routes below each of the first segments.
    func mount(on router: Router<APIContext>, below segments: [String]) {
        for first in segments {
            mount(.passwordReset, below: first, on: router, show: showReset, take: takeReset)
            mount(.confirmation, below: first, on: router, show: showConfirmation, take: takeConfirmation)
            mount(.reversal, below: first, on: router, show: showReversal, take: takeReversal)
        }
    }

    private typealias Show = @Sendable (_ token: String, LoadedApplication) async throws(Failure) -> Response
    private typealias Take =
        @Sendable (FormFields, LoadedApplication, RequestSource, Logger) async throws(Failure) -> Response

    private func mount(
        _ purpose: EmailTokenPurpose,
        below first: String,
        on router: Router<APIContext>,
        show: @escaping Show,
        take: @escaping Take
    ) {
        let id: @Sendable (APIContext) -> Substring = { $0.parameters["applicationId"] ?? first[...] }
        router.get(RouterPath("/\(first)/\(purpose.page)")) { request, context in
            await respond(id(context), context) { (loaded) throws(Failure) in
                try await show(try FormFields(request.uri.query ?? "").value("token") ?? "", loaded)
            }
        }
        router.post(RouterPath("/\(first)/\(purpose.page)")) { request, context in
            await respond(id(context), context) { (loaded) throws(Failure) in
                let form = try await request.formBody(upTo: Self.formLimit)
                return try await take(form, loaded, RequestSource(name: context.peer.network.name), context.logger)
            }
        }
    }

    /// A person looks at whatever comes of it, so failures are pages.
    @Sendable private func respond(
        _ id: Substring,
        _ context: APIContext,
        _ body: (LoadedApplication) async throws(Failure) -> Response
    ) async -> Response {
        var facts = RefusalLog.Facts()
        do throws(Failure) {
            let loaded = try directory.application(id: id)
            facts.application = loaded.application.id
            return try await body(loaded)
        } catch {
            return page.failure(refusals.logged(error, facts, in: context))
        }
    }

    @Sendable private func showReset(_ token: String, _ loaded: LoadedApplication) async throws(Failure) -> Response {
        let account = try await passwordReset.linkedAccount(token, for: .passwordReset, in: loaded)
        return page.passwordForm(token: token, account: account, application: loaded.application.name)
    }

    @Sendable private func takeReset(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        let keepsIdentities = try form.value("keepIdentities") != nil
        do throws(Failure) {
            let password = Secret(try form.value("password") ?? "")
            try await passwordReset.resetPassword(
                by: token,
                to: password,
                keepingIdentities: keepsIdentities,
                in: loaded,
                logger: logger
            )
            return page.passwordIsSet(application: loaded.application.name)
        } catch {
            guard error.reason == .passwordNotAllowed else { throw error }
            let account = try await passwordReset.linkedAccount(token, for: .passwordReset, in: loaded)
            return page.passwordForm(
                token: token,
                account: account,
                application: loaded.application.name,
                keepsIdentities: keepsIdentities,
                refusal: error
            )
        }
    }

    @Sendable private func showConfirmation(
        _ token: String,
        _ loaded: LoadedApplication
    ) async throws(Failure) -> Response {
        let account = try await passwordReset.linkedAccount(token, for: .confirmation, in: loaded)
        return page.confirmationForm(token: token, account: account, application: loaded.application.name)
    }

    @Sendable private func takeConfirmation(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        let keepsIdentities = try form.value("keepIdentities") != nil
        let choice = try ConfirmedPassword(
            known: try form.value("password"),
            new: try form.value("newPassword"),
            keepingIdentities: keepsIdentities
        )
        do throws(Failure) {
            try await confirmation.confirmEmail(by: token, password: choice, from: source, in: loaded, logger: logger)
            return page.emailIsConfirmed(application: loaded.application.name)
        } catch {
            guard [.passwordMissing, .loginInvalid, .passwordNotAllowed].contains(error.reason) else { throw error }
            let account = try await passwordReset.linkedAccount(token, for: .confirmation, in: loaded)
            return page.confirmationForm(
                token: token,
                account: account,
                application: loaded.application.name,
                keepsIdentities: keepsIdentities,
                refusal: error
            )
        }
    }

    @Sendable private func showReversal(
        _ token: String,
        _ loaded: LoadedApplication
    ) async throws(Failure) -> Response {
        let account = try await passwordReset.linkedAccount(token, for: .reversal, in: loaded)
        return page.reversalForm(token: token, account: account, application: loaded.application.name)
    }

    @Sendable private func takeReversal(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ source: RequestSource,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        do throws(Failure) {
            let password = Secret(try form.value("password") ?? "")
            let lost = try await reversal.undoChange(by: token, to: password, in: loaded, logger: logger)
            return page.changeIsUndone(
                application: loaded.application.name,
                lost: lost.map { loaded.title(of: $0) }
            )
        } catch {
            guard error.reason == .passwordNotAllowed else { throw error }
            let account = try await passwordReset.linkedAccount(token, for: .reversal, in: loaded)
            return page.reversalForm(
                token: token,
                account: account,
                application: loaded.application.name,
                refusal: error
            )
        }
    }
}
