package import Accounts
package import Applications
import Description
import Domain
import Encodings
import Factors
package import HTTP
import Hummingbird
import Logging
import Messaging

/// The pages to which mailed links lead.
///
/// Their paths are `/{applicationId}/` and `reset-password`, `confirm-email`, `undo-change`, `undo-merge`,
/// `connect-accounts`, `verify-email`, `change-email` or `invitation`. The paths contain no API key. The paths of the
/// API have more segments, so none of them is the path of a page.
///
/// A GET changes nothing, since programs that scan mails follow links. Only the form that the user sends makes a
/// change.
package struct LinkPages: Sendable {
    private let passwordReset: PasswordReset
    private let confirmation: EmailConfirmation
    private let reversal: ChangeReversal
    private let merges: AccountMerges
    private let claims: MailedClaims
    private let verification: AddressVerification
    private let registrations: Registrations
    private let routes: PageRoutes

    package init(
        _ useCases: UseCases,
        directory: ApplicationDirectory,
        refusals: RefusalLog,
        errors: any ErrorTable
    ) {
        passwordReset = useCases.passwordReset
        confirmation = useCases.confirmation
        reversal = useCases.reversal
        merges = useCases.merges
        claims = useCases.claims
        verification = useCases.addressVerification
        registrations = useCases.registrations
        routes = PageRoutes(directory: directory, refusals: refusals, errors: errors)
    }

    /// The maximum size of a form in bytes.
    private static let formLimit = 65_536

    /// Mounts the routes of the pages.
    ///
    /// `segments` are the possible first segments of their paths: a parameter for the application's id, or a fixed text
    /// that may be an application's id.
    package func mount(on routes: DescribedRouter, below segments: [String]) {
        let pages = PageRoutes.Mount(routes: routes, segments: segments)
        for (purpose, shown, taken) in [
            (EmailTokenPurpose.passwordReset, Operation.showPasswordReset, Operation.submitPasswordReset),
            (.confirmation, .showEmailConfirmation, .submitEmailConfirmation),
            (.reversal, .showChangeReversal, .submitChangeReversal),
            (.mergeReversal, .showMergeReversal, .submitMergeReversal),
            (.claim, .showClaim, .submitClaim),
            (.verification, .showVerification, .submitVerification),
            (.newAddress, .showAddressChange, .submitAddressChange),
        ] {
            mount(purpose.page, shown, taken, on: pages) { (token, asked) throws(Failure) in
                let account = try await passwordReset.linkedAccount(token, for: purpose, in: asked.loaded)
                return asked.page.form(for: purpose, token: token, account: account, next: asked.next)
            } take: { (form, asked) throws(Failure) in
                try await take(form, of: purpose, asked)
            }
        }
        mount(MailedLinks.invitationPage, .showInvitation, .submitInvitation, on: pages) {
            (token, asked) throws(Failure) in
            asked.page.invitation(token: token, offer: try await registrations.offer(by: token, in: asked.loaded))
        } take: { (form, asked) throws(Failure) in
            try await takeInvitation(form, asked)
        }
    }

    /// A request for a page to which a mailed link leads.
    private struct Asked {
        let loaded: LoadedApplication
        let page: LinkPage
        let source: RequestSource
        let logger: Logger
        /// The page of the app to which the user may go on.
        let next: ContinueURL?
    }

    private func mount(
        _ segment: String,
        _ shown: Operation,
        _ taken: Operation,
        on pages: PageRoutes.Mount,
        show: @escaping @Sendable (_ token: String, Asked) async throws(Failure) -> Response,
        take: @escaping @Sendable (FormFields, Asked) async throws(Failure) -> Response
    ) {
        @Sendable func asked(
            _ context: APIContext,
            _ loaded: LoadedApplication,
            _ page: WebPage,
            _ fields: FormFields
        ) throws(Failure) -> Asked {
            Asked(
                loaded: loaded,
                page: LinkPage(of: loaded.application, page, errors: routes.errors),
                source: RequestSource(name: context.peer.network.name),
                logger: context.logger,
                next: try fields.value("continue").flatMap { ContinueURL($0, in: loaded.application.settings) }
            )
        }
        routes.on(.get, segment, shown, on: pages) { (request, context, loaded, page) throws(Failure) in
            let query = try FormFields(request.uri.query ?? "")
            return try await show(try query.value("token") ?? "", try asked(context, loaded, page, query))
        }
        routes.on(.post, segment, taken, on: pages) { (request, context, loaded, page) throws(Failure) in
            let form = try await request.formBody(upTo: Self.formLimit)
            return try await take(form, try asked(context, loaded, page, form))
        }
    }

    /// Carries out what a form on the page of a mailed link requests, such as a new password.
    ///
    /// If the user requests a code or chooses another factor, or can correct a failure, the response shows the form
    /// again. The repeated form contains the pending second factor, so that a code that was sent before stays valid.
    private func take(
        _ form: FormFields,
        of purpose: EmailTokenPurpose,
        _ asked: Asked
    ) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        let keepsIdentities = try form.value("keepIdentities") != nil
        func shown(_ wish: LinkFactorRequest?, _ refusal: Failure? = nil) async throws(Failure) -> Response {
            let account = try await passwordReset.linkedAccount(token, for: purpose, asking: wish, in: asked.loaded)
            return asked.page.form(
                for: purpose,
                token: token,
                account: account,
                keepsIdentities: keepsIdentities,
                next: asked.next,
                refusal: refusal
            )
        }
        do throws(Failure) {
            let (sends, chooses) = (try form.value("send") != nil, try form.value("choose") != nil)
            guard !sends, !chooses else {
                return try await shown(try LinkFactorRequest(form, from: asked.source, sends: sends))
            }
            return try await carryOut(purpose, by: token, form, keepingIdentities: keepsIdentities, asked)
        } catch {
            guard error.canBeAnsweredAnew else { throw error }
            let hasEnded = error.reason == .pendingLoginInvalid
            return try await shown(
                hasEnded ? nil : try LinkFactorRequest(form, from: asked.source, sends: false),
                error
            )
        }
    }

    private func carryOut(
        _ purpose: EmailTokenPurpose,
        by token: String,
        _ form: FormFields,
        keepingIdentities: Bool,
        _ asked: Asked
    ) async throws(Failure) -> Response {
        let factor = try LinkFactorAnswer(form, from: asked.source)
        let password = try form.value("password")
        switch purpose {
        case .passwordReset:
            try await passwordReset.resetPassword(
                by: token,
                to: Secret(password ?? ""),
                keepingIdentities: keepingIdentities,
                showing: factor,
                in: asked.loaded,
                logger: asked.logger
            )
            return asked.page.says(.passwordIsSet, .logInWithNewPassword, next: asked.next)
        case .confirmation:
            let new = try form.value("newPassword")
            try await confirmation.confirmEmail(
                by: token,
                password: try ConfirmedPassword(known: password, new: new, keepingIdentities: keepingIdentities),
                showing: factor,
                in: asked.loaded,
                logger: asked.logger
            )
            return asked.page.says(.addressIsConfirmed, .logInNow)
        case .verification, .newAddress:
            _ = try await verification.confirm(by: token, in: asked.loaded, logger: asked.logger)
            let text: PageText = purpose == .newAddress ? .addressIsYours : .logInNow
            return asked.page.says(.addressIsConfirmed, text, next: asked.next)
        case .reversal:
            let lost = try await reversal.undoChange(
                by: token,
                to: Secret(password ?? ""),
                showing: factor,
                in: asked.loaded,
                logger: asked.logger
            )
            return asked.page.changeIsUndone(lost: lost.map { asked.loaded.title(of: $0) })
        case .mergeReversal:
            try await merges.undoMerge(byLink: token, in: asked.loaded, logger: asked.logger)
            return asked.page.says(.accountsAreTwo, .logInToEither)
        case .claim:
            guard try form.value("refuse") == nil else {
                try await claims.refuse(by: token, in: asked.loaded, logger: asked.logger)
                return asked.page.says(.notConnected, .accountsStay)
            }
            try await claims.take(
                by: token,
                password: password.flatMap { $0.isEmpty ? nil : Secret($0) },
                keepingIdentities: keepingIdentities,
                showing: factor,
                in: asked.loaded,
                logger: asked.logger
            )
            return asked.page.says(.accountsConnected, .logInToOlder)
        }
    }

    /// Registers an invited user's account with a password.
    ///
    /// After a failure that the user can correct, the response is the form with the failure.
    private func takeInvitation(_ form: FormFields, _ asked: Asked) async throws(Failure) -> Response {
        let token = try form.value("token") ?? ""
        let offer = try await registrations.offer(by: token, in: asked.loaded)
        var record = UserRecord(password: try form.value("password").map(JSONValue.string))
        record.locale = .string(asked.page.words.language.rawValue)
        for name in [asked.loaded.application.settings.identityProperty, .email] {
            guard let value = try form.value(name.text), !value.isEmpty else { continue }
            if record.properties[name.text] == nil { record.properties.append(name.text, .string(value)) }
        }
        do throws(Failure) {
            let made = try await registrations.register(
                record,
                invitation: InvitationToken(token),
                token: nil,
                from: asked.source,
                in: asked.loaded,
                logger: asked.logger
            )
            let waits = made.user.status == .emailConfirmationPending
            return asked.page.says(.accountIsOpen, waits ? .confirmationIsSent : .accountOpened)
        } catch {
            switch error.reason {
            case .passwordNotAllowed, .passwordMissing, .loginTaken, .loginMissing, .emailInvalid, .propertyMissing,
                .rateLimited, .overloaded, .storeUnavailable:
                return asked.page.invitation(
                    token: token,
                    offer: offer,
                    record: record.properties,
                    refusal: error.logged
                )
            default: throw error
            }
        }
    }
}

extension LinkFactorRequest {
    /// Reads from a form which second factor the user wants to use; nil if the form names none.
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
        let response = try FactorResponse(form)
        let shown = try form.value("pending").map { Shown(pending: $0, factor: factor, response: response) }
        self.init(shown, keyLabel: nil, source: source)
    }
}

extension Failure {
    /// Whether the user can correct the failure by sending the form on the same page again.
    fileprivate var canBeAnsweredAnew: Bool {
        switch reason {
        case .passwordNotAllowed, .passwordMissing, .loginInvalid, .secondFactorRequired, .pendingLoginInvalid: true
        default: reason.leavesAnotherFactor
        }
    }
}

extension Operation {
    fileprivate static let showPasswordReset = page(
        "showPasswordReset",
        "Shows the page of a mailed link: a form for a new password. Reading the page changes nothing.",
        parameters: [.linkToken, .nextPage]
    )

    fileprivate static let submitPasswordReset = page(
        "submitPasswordReset",
        "Sets the password in the form.",
        form: .fields([
            "token": .string,
            "password": .string,
            "keepIdentities": .string.described(
                "Present when the user has ticked that the identities of the account are their own."
            ),
            "continue": .string.described("The page of the app to which the last page leads."),
        ])
    )

    fileprivate static let showEmailConfirmation = page(
        "showEmailConfirmation",
        """
        Shows the page of a mailed link: a form that confirms the address, with the password of the account or a new \
        one. Reading the page changes nothing.
        """,
        parameters: [.linkToken]
    )

    fileprivate static let submitEmailConfirmation = page(
        "submitEmailConfirmation",
        "Confirms the address, by the password in the form.",
        form: .fields([
            "token": .string,
            "password": .string.described("The password that was chosen for the account."),
            "newPassword": .string.described("A new password that replaces that one."),
            "keepIdentities": .string.described(
                "Present when the user has ticked that the identities of the account are their own."
            ),
        ]),
        or: [.failurePage(429)]
    )

    fileprivate static let showChangeReversal = page(
        "showChangeReversal",
        """
        Shows the page of a notice's link: a form that undoes the change of the account. Reading the page changes \
        nothing.
        """,
        parameters: [.linkToken]
    )

    fileprivate static let submitChangeReversal = page(
        "submitChangeReversal",
        "Undoes the change, and sets the password in the form.",
        form: .fields(["token": .string, "password": .string])
    )

    fileprivate static let showMergeReversal = page(
        "showMergeReversal",
        """
        Shows the page of a notice's link: a form that undoes the merge of two users. Reading the page changes nothing.
        """,
        parameters: [.linkToken]
    )

    fileprivate static let submitMergeReversal = page(
        "submitMergeReversal",
        "Undoes the merge of two users.",
        form: .fields(["token": .string]),
        or: [.failurePage(409)]
    )

    fileprivate static let showClaim = page(
        "showClaim",
        """
        Shows the page of a mailed link: a form that merges an account with the account of a new user who brought the \
        same address. Reading the page changes nothing.
        """,
        parameters: [.linkToken]
    )

    fileprivate static let submitClaim = page(
        "submitClaim",
        "Merges both accounts, or ends the offer.",
        form: .fields([
            "token": .string,
            "refuse": .string.described("Present when the reader is not the new user."),
            "password": .string.described(
                "The password of the account. Without this field, an unconfirmed account loses its password."
            ),
            "keepIdentities": .string.described(
                "Present when the user has ticked that the identities of the account are their own."
            ),
        ]),
        or: [.failurePage(409), .failurePage(429)]
    )

    fileprivate static let showVerification = page(
        "showAddressVerification",
        "Shows the page of a mailed link: a form that confirms the address. Reading the page changes nothing.",
        parameters: [.linkToken, .nextPage]
    )

    fileprivate static let submitVerification = page(
        "submitAddressVerification",
        "Confirms the address.",
        form: .fields(["token": .string, "continue": .string])
    )

    fileprivate static let showAddressChange = page(
        "showAddressChange",
        """
        Shows the page of a mailed link: a form that gives the account the address of the mail. Reading the page \
        changes nothing.
        """,
        parameters: [.linkToken, .nextPage]
    )

    fileprivate static let submitAddressChange = page(
        "submitAddressChange",
        "Gives the account the address.",
        form: .fields(["token": .string, "continue": .string]),
        or: [.failurePage(409)]
    )

    fileprivate static let showInvitation = page(
        "showInvitation",
        """
        Shows the page of an invitation's link: a form that creates an account with a password, and the code for the \
        app. Reading the page changes nothing.
        """,
        parameters: [.linkToken],
        or: [.failurePage(403)]
    )

    fileprivate static let submitInvitation = page(
        "submitInvitation",
        """
        Creates the account that the form describes. Where the login name is not the e-mail address, the form has both.
        """,
        form: .fields(["token": .string, "email": .string, "password": .string]),
        or: [.failurePage(403), .failurePage(429)]
    )
}

extension Parameter {
    fileprivate static let linkToken = Parameter("token", in: .query, .string, "The token in the mailed link.")
    fileprivate static let nextPage = Parameter(
        "continue",
        in: .query,
        .string,
        "The page of the app to which the last page leads. It must have one of the app's origins.",
        isRequired: false
    )
}
