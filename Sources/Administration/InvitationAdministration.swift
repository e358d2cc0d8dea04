import Applications
import Description
package import Domain
package import Encodings
import Messaging
import Providers
import Secrets
import Store

/// Lists, creates, sends and revokes invitations to become a user of an application.
package struct InvitationAdministration: Sendable {
    let store: Store
    let kinds: ProviderKinds
    let masterKeys: MasterKeys
    let links: MailedLinks
    /// The gateway for SMS; nil when the deployment sends no SMS.
    let gateway: SMSGateway?
    let attempts: AttemptCounter
    let random: RandomSource
    let changes: ApplicationChanges

    /// Returns a page of invitations, the newest first.
    ///
    /// If `state` is given, the page has only invitations in this state.
    ///
    /// An invitation is `{"id", "email" | "phone" | "identity": {"provider", "appId", "subject"}, "state", "roles",
    /// "properties", "locale", "invitedBy", "created", "expires", "sent", "lastSent", "accepted", "objectId"}`.
    package func list(of application: String, in state: String?, _ page: PageRequest) async throws(Failure) -> Page {
        let owner = try Application(try await changes.existing(application))
        var wanted: InvitationState?
        if let state {
            wanted = InvitationState.allCases.first { $0.rawValue.hasSameBytes(as: state) }
            guard wanted != nil else {
                let states = InvitationState.allCases.map(\.rawValue).joined(separator: ", ")
                throw Failure(.malformedRequest, "state must be one of \(states).")
            }
        }
        var after: InvitationCursor?
        if let cursor = page.cursor {
            guard let place = InvitationCursor(cursor) else { throw .badCursor }
            after = place
        }
        let invitations = try await store.invitations(of: owner, in: wanted, after: after, limit: page.limit + 1)
        return page.page(of: invitations, cursor: \.cursor.text, { .object($0.json) })
    }

    package func read(_ id: String, of application: String) async throws(Failure) -> Resource {
        let owner = try Application(try await changes.existing(application))
        return Resource(.object(try await invitation(id, of: owner).json), tag: nil)
    }

    /// Creates an invitation.
    ///
    /// - Parameters:
    ///   - document: `{"email" | "phone" | "identity", "roles"?, "properties"?, "expiresInSeconds"?, "send"?,
    ///     "locale"?}`.
    ///   - application: The application.
    ///   - actor: The operator.
    /// - Returns: The invitation. If the service did not send the link, also `link`, which is shown only once.
    /// - Throws: `document_invalid`; `mail_off` if the deployment cannot send the link; `conflict` for a contact that
    ///   has an open invitation; `too_many_attempts` for a mailbox or telephone that has received several messages;
    ///   `code_not_delivered` if the gateway refused the message. After an error, no invitation is stored.
    package func create(
        _ document: JSONValue,
        in application: String,
        by actor: ChangeAuthor
    ) async throws(Failure) -> Resource {
        let stored = try await changes.existing(application)
        let loaded = LoadedApplication(stored, masterKeys: masterKeys, kinds: kinds)
        let wish: InvitationDocument
        do throws(DocumentProblems) {
            wish = try InvitationDocument(document, for: stored, loaded.application, kinds: kinds)
        } catch {
            throw error.failure
        }
        let token = wish.hasLink ? OneTimeToken(random) : nil
        let link = try token.map { (token) throws(Failure) in
            try links.invitation(by: token, to: loaded.application.id)
        }
        let sent = wish.isSent ? link : nil
        let id = random.objectID()
        let notice: Notice?
        if let sent {
            notice = try mail(sent, to: wish.contact, seconds: wish.seconds, locale: wish.locale, in: loaded)
            try await countMessage(to: wish.contact, in: loaded)
        } else {
            notice = nil
        }
        let made = try await links.counting(of: loaded.application) { () throws(Failure) in
            try await store.invite(
                NewInvitation(
                    id: id,
                    tokenHash: token?.hash,
                    contact: wish.contact,
                    roles: wish.roles,
                    properties: wish.properties,
                    locale: wish.locale,
                    seconds: wish.seconds,
                    mail: notice,
                    isSent: sent != nil
                ),
                to: loaded.application,
                by: actor
            )
        }
        do throws(Failure) {
            if let sent { try await text(sent, to: wish.contact, locale: wish.locale, in: loaded) }
        } catch {
            _ = try await store.revokeInvitation(made.id, of: loaded.application, by: actor)
            throw error
        }
        var json = made.json
        if let link, sent == nil { json.append("link", .string(link.reveal())) }
        return Resource(.object(json), tag: nil)
    }

    /// Sends an invitation again, with a new link and the full lifetime.
    ///
    /// - Throws: `conflict` if the invitation is not open, or has no link; `mail_off`, `too_many_attempts`,
    ///   `code_not_delivered`.
    package func send(_ id: String, in application: String, by actor: ChangeAuthor) async throws(Failure) -> Resource {
        let loaded = LoadedApplication(try await changes.existing(application), masterKeys: masterKeys, kinds: kinds)
        let before = try await invitation(id, of: loaded.application)
        if case .identity = before.contact {
            throw Failure(
                .conflict,
                "This invitation is for an identity, whose login accepts it. It has no link to send."
            )
        }
        let token = OneTimeToken(random)
        let link = try links.invitation(by: token, to: loaded.application.id)
        let mail = try mail(link, to: before.contact, seconds: before.seconds, locale: before.locale, in: loaded)
        try await countMessage(to: before.contact, in: loaded)
        let sent = try await links.counting(of: loaded.application) { () throws(Failure) in
            try await store.resend(before.id, tokenHash: token.hash, mail: mail, of: loaded.application, by: actor)
        }
        guard let sent else {
            throw Failure(
                .conflict,
                "This invitation has been accepted or has expired, and cannot be sent again. Create a new one."
            )
        }
        try await text(link, to: before.contact, locale: before.locale, in: loaded)
        return Resource(.object(sent.json), tag: nil)
    }

    /// Revokes an invitation and its link.
    ///
    /// - Throws: `conflict` for an accepted invitation, since its user exists.
    package func revoke(_ id: String, in application: String, by actor: ChangeAuthor) async throws(Failure) {
        let owner = try Application(try await changes.existing(application))
        let invitation = try await invitation(id, of: owner)
        guard try await store.revokeInvitation(invitation.id, of: owner, by: actor) else {
            throw Failure(
                .conflict,
                "This invitation has been accepted. Disable or erase the user instead."
            )
        }
    }

    private func invitation(_ id: String, of owner: Application) async throws(Failure) -> StoredInvitation {
        guard let id = ObjectID(id), let invitation = try await store.invitation(id, of: owner) else {
            throw Failure.noSuchInvitation
        }
        return invitation
    }

    /// Returns the mail with the link of an invitation; nil if the invitation is not for an e-mail address.
    private func mail(
        _ link: Secret,
        to contact: InvitedContact,
        seconds: Int64,
        locale: String?,
        in loaded: LoadedApplication
    ) throws(Failure) -> Notice? {
        guard case .email(let address) = contact, let email = EmailAddress(address) else { return nil }
        try links.requireMail()
        return try links.invitation(link: link, seconds: seconds, to: email, locale: locale, in: loaded)
    }

    /// Counts an SMS with an invitation's link against the rate limits of one-time codes, which bound the costs of SMS.
    ///
    /// If the contact is an e-mail address or an identity, this does nothing.
    private func countMessage(to contact: InvitedContact, in loaded: LoadedApplication) async throws(Failure) {
        guard case .phone(let text) = contact else { return }
        guard gateway != nil else {
            throw Failure(
                .mailOff,
                "This service cannot send SMS. Create the invitation with \"send\": false, and send the link yourself."
            )
        }
        let policy = loaded.application.settings.secondFactor.sms
        guard let number = try? PhoneNumber(text), number.isAllowed(by: policy.prefixes) else {
            throw Failure(
                .conflict,
                """
                This application does not send messages to this number. The setting secondFactor.sms.countries lists \
                the allowed prefixes.
                """
            )
        }
        let rules = AttemptRule.messages(policy)
        let counts = [
            AttemptCount(for: Digest.sha256("messages to \(number.text)"), by: rules.number),
            AttemptCount(for: Digest.sha256("messages"), by: rules.all),
        ]
        let refusal = try await attempts.count(
            counts,
            of: loaded.application,
            before: .now + Administration.providerTimeout
        )
        guard let refusal else { return }
        throw Failure(
            .tooManyAttempts,
            "Too many messages were sent to this number or by this application. Wait, or send the link yourself.",
            retryAfter: refusal.seconds
        )
    }

    /// Sends the link of an invitation by SMS.
    private func text(
        _ link: Secret,
        to contact: InvitedContact,
        locale: String?,
        in loaded: LoadedApplication
    ) async throws(Failure) {
        guard case .phone(let text) = contact, let number = try? PhoneNumber(text), let gateway else { return }
        let message = TextMessage(
            invitingBy: link,
            to: number,
            id: random.objectID(),
            application: loaded.application.id,
            name: loaded.application.name,
            locale: locale
        )
        switch await gateway.send(message) {
        case .taken: return
        case .refused(let problem), .unreachable(let problem):
            throw Failure(
                .codeNotDelivered,
                "The link could not be sent to this number. Try again shortly, or send the link yourself.",
                retryAfter: 5,
                cause: problem
            )
        }
    }
}

extension StoredInvitation {
    /// The lifetime of the invitation in seconds.
    ///
    /// It begins at the last sending, or at the creation if the invitation was never sent, and lasts until the expiry.
    fileprivate var seconds: Int64 { (expires - (lastSent ?? created)) / 1000 }

    var json: JSONObject {
        var object: JSONObject = ["id": .string(id.description)]
        switch contact {
        case .email(let address): object.append("email", .string(address))
        case .phone(let number): object.append("phone", .string(number))
        case .identity(let identity):
            object.append(
                "identity",
                .object([
                    "provider": .string(identity.provider.text), "appId": .string(identity.app.text),
                    "subject": .string(identity.subject.text),
                ])
            )
        }
        object.append("state", .string(state.rawValue))
        object.append("roles", .array(roles.map(JSONValue.string)))
        object.append("properties", .object(properties))
        object.append("locale", locale.map(JSONValue.string) ?? .null)
        object.append("invitedBy", .string(invitedBy))
        object.append("created", .integer(created))
        object.append("expires", .integer(expires))
        object.append("sent", .integer(sent))
        object.append("lastSent", lastSent.map(JSONValue.integer) ?? .null)
        object.append("accepted", accepted.map(JSONValue.integer) ?? .null)
        object.append("objectId", user.map { .string($0.description) } ?? .null)
        return object
    }
}

/// An operator's request for an invitation, after all checks.
struct InvitationDocument {
    private(set) var contact = InvitedContact.email("")
    private(set) var roles: [String] = []
    private(set) var properties = JSONObject()
    private(set) var seconds = Self.usualSeconds
    private(set) var isSent = true
    private(set) var locale: String?

    /// Whether the user accepts the invitation by a link.
    ///
    /// An invitation of an identity has no link: a login with the identity accepts it.
    var hasLink: Bool {
        if case .identity = contact { false } else { true }
    }

    /// The default lifetime of an invitation: seven days.
    private static let usualSeconds: Int64 = 604_800
    /// The allowed lifetimes of an invitation in seconds: from a day to 90 days.
    ///
    /// A link that is valid for longer is a permanent credential.
    private static let lifetimes: ClosedRange<Int64> = 86_400...7_776_000
    private static let contacts = ["email", "phone", "identity"]

    init(
        _ document: JSONValue,
        for stored: StoredApplication,
        _ application: Application,
        kinds: ProviderKinds
    ) throws(DocumentProblems) {
        var reader = DocumentReader(origin: .request)
        let known = Self.contacts + ["roles", "properties", "expiresInSeconds", "send", "locale"]
        if let object = reader.object(document, at: JSONPointer(), known: known) {
            readContact(object, stored, kinds, &reader)
            readRoles(object, application, &reader)
            if let value = object.present("properties") {
                do throws(DocumentProblems) {
                    _ = try application.given(byOperator: value)
                    properties = value.object ?? [:]
                } catch {
                    reader.problems.add(error.moved(from: JSONPointer(), to: JSONPointer() / "properties"))
                }
            }
            if let value = object.present("expiresInSeconds") {
                let given = value.integer.flatMap { Self.lifetimes.contains($0) ? $0 : nil }
                let rule = "must be whole seconds from \(Self.lifetimes.lowerBound) to \(Self.lifetimes.upperBound)"
                seconds = reader.required(given, at: JSONPointer() / "expiresInSeconds", rule) ?? seconds
            }
            isSent = reader.bool(object.present("send"), at: JSONPointer() / "send") ?? hasLink
            if isSent, !hasLink { reader.problems.add(JSONPointer() / "send", "an identity has no link to be sent") }
            if let value = object.present("locale") {
                let letters = value.string.flatMap(LanguageTag.letters)
                let rule = "must be a language such as en or de_CH"
                locale = reader.required(letters, at: JSONPointer() / "locale", rule)
            }
        }
        try reader.check()
    }

    private mutating func readContact(
        _ object: JSONObject,
        _ stored: StoredApplication,
        _ kinds: ProviderKinds,
        _ reader: inout DocumentReader
    ) {
        let given = Self.contacts.filter { object.present($0) != nil }
        guard given.count == 1, let name = given.first, let value = object.present(name) else {
            return reader.problems.add(JSONPointer(), "must name one contact: email, phone or identity")
        }
        let place = JSONPointer() / name
        switch name {
        case "email":
            let email = value.string.flatMap { EmailAddress($0) }
            guard let email = reader.required(email, at: place, "must be an e-mail address") else { return }
            contact = .email(email.text)
        case "phone":
            do throws(InvalidPhoneNumber) {
                contact = .phone(try PhoneNumber(value.string ?? "").text)
            } catch {
                reader.problems.add(place, "\(error)")
            }
        default:
            guard let identity = Self.identity(value, stored, kinds, &reader, at: place) else { return }
            contact = .identity(identity)
        }
    }

    /// Reads the identity of a user at a provider of the application.
    ///
    /// The member `appId` may be absent if the application has only one app at the provider.
    private static func identity(
        _ value: JSONValue,
        _ stored: StoredApplication,
        _ kinds: ProviderKinds,
        _ reader: inout DocumentReader,
        at place: JSONPointer
    ) -> IdentityKey? {
        let members = ["provider", "appId", "subject"]
        guard let object = reader.object(value, at: place, known: members) else { return nil }
        let name = object["provider"]?.string.flatMap { ProviderName($0) }
        let kind = name.flatMap { stored.providerKinds[$0] }.flatMap(kinds.named)
        let found = reader.required(kind, at: place / "provider", "is not a provider of this application")
        guard let name, let kind = found else { return nil }
        let rule = kind.subjects
        let subject = reader.required(
            object["subject"]?.string.flatMap(rule.subject),
            at: place / "subject",
            "must be the id of a user at \(name), as a text"
        )
        let apps = rule.isGlobal ? [ProviderAppID.global] : stored.providers[name]?.apps.map(\.id) ?? []
        let app =
            if let named = object.present("appId") {
                apps.first { $0.text.hasSameBytes(as: named.string ?? "") }
            } else {
                apps.count == 1 ? apps.first : nil
            }
        let known = reader.required(
            app,
            at: place / "appId",
            "must be one of the application's apps at \(name); optional if there is only one"
        )
        guard let subject, let known else { return nil }
        return IdentityKey(provider: name, app: known, subject: subject)
    }

    private mutating func readRoles(
        _ object: JSONObject,
        _ application: Application,
        _ reader: inout DocumentReader
    ) {
        guard let value = object.present("roles") else { return }
        let place = JSONPointer() / "roles"
        guard let names = reader.required(value.array, at: place, "must be a list of roles") else { return }
        for (index, name) in names.enumerated() {
            do throws(Failure) {
                let role = try application.role(name.string ?? "", thatIsGiven: true)
                if !roles.contains(where: { $0.hasSameBytes(as: role) }) { roles.append(role) }
            } catch {
                reader.problems.add(place / index, error.message)
            }
        }
    }
}
