import Federation
import HTTPTypes
import Hummingbird
import Identity
import Logging

/// The pages to which the links of mails lead: `/{applicationId}/reset-password` and `/{applicationId}/confirm-email`.
///
/// To look at one changes nothing, since programs that scan mails follow links; what the person then sends does. There are no API keys in
/// these paths. No base path of an application is as short, so the two do not meet.
struct LinkPages {
    let federation: Federation
    let directory: ApplicationDirectory

    /// Bytes of the largest form.
    private static let formLimit = 8192

    func mount(on router: Router<APIContext>) {
        page(.passwordReset, on: router, show: showReset, take: takeReset)
        page(.confirmation, on: router, show: showConfirmation, take: takeConfirmation)
    }

    private typealias Show = @Sendable (_ token: String, LoadedApplication) async throws(Failure) -> Response
    private typealias Take = @Sendable (FormFields, LoadedApplication, Logger) async throws(Failure) -> Response

    private func page(
        _ purpose: EmailProofPurpose,
        on router: Router<APIContext>,
        show: @escaping Show,
        take: @escaping Take
    ) {
        // Where a first segment has routes of its own, the router looks at no other.
        for first in ["{applicationId}", ApplicationRoutes.hostBound, ApplicationRoutes.headerBound] {
            @Sendable func application(_ context: APIContext) throws(Failure) -> LoadedApplication {
                try directory.application(id: context.parameters["applicationId"] ?? first[...])
            }
            router.get(RouterPath("/\(first)/\(purpose.page)")) { request, context in
                await Self.respond { () throws(Failure) in
                    let token = try FormFields(request.uri.query ?? "").value("token") ?? ""
                    return try await show(token, try application(context))
                }
            }
            router.post(RouterPath("/\(first)/\(purpose.page)")) { request, context in
                await Self.respond { () throws(Failure) in
                    try await take(
                        try await request.formBody(upTo: Self.formLimit),
                        try application(context),
                        context.logger
                    )
                }
            }
        }
    }

    /// A person looks at whatever comes of it, so failures are pages.
    private static func respond(_ body: () async throws(Failure) -> Response) async -> Response {
        do throws(Failure) { return try await body() } catch { return LinkPage.failure(error) }
    }

    @Sendable private func showReset(_ token: String, _ loaded: LoadedApplication) async throws(Failure) -> Response {
        let account = try await federation.linkedAccount(token, for: .passwordReset, in: loaded)
        return LinkPage.passwordForm(token: token, account: account, application: loaded.application.name)
    }

    @Sendable private func takeReset(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        let keepsIdentities = try form.value("keepIdentities") != nil
        do throws(Failure) {
            let password = Secret(try form.value("password") ?? "")
            try await federation.resetPassword(
                by: token,
                to: password,
                keepingIdentities: keepsIdentities,
                in: loaded,
                logger: logger
            )
            return LinkPage.passwordIsSet(application: loaded.application.name)
        } catch {
            guard error.reason == .passwordNotAllowed else { throw error }
            let account = try await federation.linkedAccount(token, for: .passwordReset, in: loaded)
            return LinkPage.passwordForm(
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
        let account = try await federation.linkedAccount(token, for: .confirmation, in: loaded)
        return LinkPage.confirmationForm(token: token, email: account.email, application: loaded.application.name)
    }

    @Sendable private func takeConfirmation(
        _ form: FormFields,
        _ loaded: LoadedApplication,
        _ logger: Logger
    ) async throws(Failure) -> Response {
        try await federation.confirmEmail(by: try form.value("token") ?? "", in: loaded, logger: logger)
        return LinkPage.emailIsConfirmed(application: loaded.application.name)
    }
}
