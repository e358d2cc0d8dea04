package import Domain

/// The subject matter of a mail, with the values that its template shows.
///
/// `name` is a name that the user has chosen. The mail leaves it out if a mail program would turn it into a link.
package enum Mail: Sendable {
    /// A link with which the user sets a new password, and the lifetime of the link.
    case passwordReset(link: Secret, minutes: Int, name: String?)
    /// A link to confirm the user's e-mail address, and the lifetime of the link.
    case emailConfirmation(link: Secret, hours: Int, name: String?)
    /// A link by which the reader logs in to the app, and the lifetime of the link.
    case loginLink(link: Secret, minutes: Int64)
    /// A notice that the account's password has changed.
    ///
    /// A user who did not change the password must act.
    case passwordChanged(name: String?)
    /// A notice that a provider's identity was linked to the account, so that the user can now log in with it.
    ///
    /// A user who did not link the identity must act.
    case identityLinked(provider: String, name: String?)
    /// A notice that the account's e-mail address has changed.
    ///
    /// The link, if there is one, undoes this change and all later changes. The link expires after `days` days.
    case emailChanged(link: Secret?, days: Int, name: String?)
    /// A notice that the account's login name has changed.
    ///
    /// The link, if there is one, undoes this change and all later changes. The link expires after `days` days.
    case loginChanged(link: Secret?, days: Int, name: String?)
    /// A notice that a login method was removed: the provider's identity or, if `provider` is nil, the password.
    ///
    /// The link, if there is one, undoes this change and all later changes. The link expires after `days` days.
    case loginMethodRemoved(provider: String?, link: Secret?, days: Int, name: String?)
    /// A one-time code and its lifetime.
    ///
    /// If `enrols` is true, the code is for the enrolment of a second factor. Otherwise it is for a login.
    case factorCode(code: Secret, minutes: Int, enrols: Bool, name: String?)
    /// A notice that a second factor was added to the account.
    ///
    /// The link, if there is one, undoes this change and all later changes. The link expires after `days` days.
    case factorAdded(kind: FactorKind, link: Secret?, days: Int, name: String?)
    /// A notice that a second factor was removed from the account.
    ///
    /// The link, if there is one, undoes this change and all later changes. The link expires after `days` days.
    case factorRemoved(kind: FactorKind, link: Secret?, days: Int, name: String?)
    /// A notice that two accounts became one.
    ///
    /// The link, if there is one, separates the accounts again. The link expires after `days` days.
    case accountsMerged(link: Secret?, days: Int, name: String?)
    /// A notice that two accounts that had become one are separate again.
    case accountsSeparated(name: String?)
    /// An offer to make the account one with that of a new user, who logged in by the provider with the same address.
    ///
    /// The link leads to a page where the reader accepts or refuses. It expires after `hours` hours.
    case accountClaim(link: Secret, hours: Int, provider: String, name: String?)
    /// A one-time code and its lifetime, with which the reader connects the account with a first login by a provider
    /// that has the same address.
    case accountCode(code: Secret, minutes: Int, provider: String, name: String?)
    /// An invitation: a link to register, and the lifetime of the link in seconds.
    case invitation(link: Secret, seconds: Int64)
    /// A notice that the account will be deleted in `days` days, or that it is deleted already if `days` is 0.
    case accountDeleted(days: Int64, name: String?)
    /// A test of the mail configuration.
    case test

    /// The templates of mails; the raw values are their names.
    ///
    /// Operators may replace each template by files of their own.
    package enum Template: String, Sendable, CaseIterable {
        case passwordReset, emailConfirmation, loginLink, passwordChanged, identityLinked, emailChanged, loginChanged,
            factorCode, factorAdded, factorRemoved, accountsMerged, accountsSeparated, accountClaim,
            accountCode, invitation, accountDeleted, test
        case loginMethodRemoved = "wayInRemoved"

        /// The names of the variables that the texts of a template may use.
        ///
        /// The variable `application` is the name of the application.
        var variables: Set<String> {
            switch self {
            case .passwordReset: ["application", "name", "link", "minutes"]
            case .emailConfirmation: ["application", "name", "link", "hours"]
            case .loginLink: ["application", "link", "minutes"]
            case .passwordChanged, .accountsSeparated: ["application", "name"]
            case .identityLinked: ["application", "name", "provider"]
            case .emailChanged, .loginChanged, .accountsMerged: ["application", "name", "link", "days"]
            case .loginMethodRemoved: ["application", "name", "provider", "link", "days"]
            case .accountClaim: ["application", "name", "link", "hours", "provider"]
            case .accountCode: ["application", "name", "code", "minutes", "provider"]
            case .factorCode: ["application", "name", "code", "minutes", "login", "enrolment"]
            case .factorAdded, .factorRemoved:
                Set(["application", "name", "link", "days"] + FactorKind.allCases.map(\.rawValue))
            case .invitation: ["application", "link", "days", "hours"]
            case .accountDeleted: ["application", "name", "days", "oneDay"]
            case .test: ["application"]
            }
        }
    }

    package var template: Template {
        switch self {
        case .passwordReset: .passwordReset
        case .emailConfirmation: .emailConfirmation
        case .loginLink: .loginLink
        case .passwordChanged: .passwordChanged
        case .identityLinked: .identityLinked
        case .emailChanged: .emailChanged
        case .loginChanged: .loginChanged
        case .loginMethodRemoved: .loginMethodRemoved
        case .factorCode: .factorCode
        case .factorAdded: .factorAdded
        case .factorRemoved: .factorRemoved
        case .accountsMerged: .accountsMerged
        case .accountsSeparated: .accountsSeparated
        case .accountClaim: .accountClaim
        case .accountCode: .accountCode
        case .invitation: .invitation
        case .accountDeleted: .accountDeleted
        case .test: .test
        }
    }

    /// The number of seconds after which the mail no longer helps its reader, such as the lifetime of its link.
    var usefulSeconds: Int64 {
        switch self {
        case .passwordReset(_, let minutes, _), .factorCode(_, let minutes, _, _), .accountCode(_, let minutes, _, _):
            Int64(clamping: minutes) &* 60
        case .loginLink(_, let minutes): minutes &* 60
        case .emailConfirmation(_, let hours, _), .accountClaim(_, let hours, _, _): Int64(clamping: hours) &* 3600
        case .invitation(_, let seconds): seconds
        case .emailChanged(_?, let days, _), .loginChanged(_?, let days, _), .loginMethodRemoved(_, _?, let days, _),
            .factorAdded(_, _?, let days, _), .factorRemoved(_, _?, let days, _), .accountsMerged(_?, let days, _):
            Int64(clamping: days) &* 86_400
        case .passwordChanged, .identityLinked, .emailChanged, .loginChanged, .loginMethodRemoved, .factorAdded,
            .factorRemoved, .accountsMerged, .accountsSeparated, .accountDeleted, .test:
            86_400
        }
    }

    /// The values of the template's variables, except the name of the application.
    var values: [String: String] {
        switch self {
        case .passwordReset(let link, let minutes, let name):
            Self.values(name: name, ["link": link.reveal(), "minutes": String(minutes)])
        case .emailConfirmation(let link, let hours, let name):
            Self.values(name: name, ["link": link.reveal(), "hours": String(hours)])
        case .loginLink(let link, let minutes): ["link": link.reveal(), "minutes": String(minutes)]
        case .accountClaim(let link, let hours, let provider, let name):
            Self.values(name: name, ["link": link.reveal(), "hours": String(hours), "provider": provider])
        case .accountCode(let code, let minutes, let provider, let name):
            Self.values(name: name, ["code": code.reveal(), "minutes": String(minutes), "provider": provider])
        case .passwordChanged(let name), .accountsSeparated(let name): Self.values(name: name, [:])
        case .identityLinked(let provider, let name): Self.values(name: name, ["provider": provider])
        case .emailChanged(let link, let days, let name), .loginChanged(let link, let days, let name),
            .accountsMerged(let link, let days, let name):
            Self.values(name: name, ["link": link?.reveal(), "days": String(days)])
        case .loginMethodRemoved(let provider, let link, let days, let name):
            Self.values(name: name, ["provider": provider, "link": link?.reveal(), "days": String(days)])
        case .factorCode(let code, let minutes, let enrols, let name):
            // Templates have words of their own for the two purposes.
            Self.values(
                name: name,
                ["code": code.reveal(), "minutes": String(minutes), enrols ? "enrolment" : "login": "yes"]
            )
        case .factorAdded(let kind, let link, let days, let name),
            .factorRemoved(let kind, let link, let days, let name):
            // Templates have words of their own for each kind.
            Self.values(name: name, ["link": link?.reveal(), "days": String(days), kind.rawValue: kind.rawValue])
        case .invitation(let link, let seconds):
            // Below two days, the lifetime is in hours. A lifetime in days could promise a day that is not complete.
            seconds < 172_800
                ? ["link": link.reveal(), "hours": String(seconds / 3600)]
                : ["link": link.reveal(), "days": String(seconds / 86_400)]
        case .accountDeleted(let days, let name):
            // Templates have words of their own for one day.
            Self.values(name: name, ["days": days > 0 ? String(days) : nil, "oneDay": days == 1 ? "yes" : nil])
        case .test: [:]
        }
    }

    private static func values(name: String?, _ others: [String: String?]) -> [String: String] {
        var values = others.compactMapValues(\.self)
        values["name"] = name.flatMap(ShownName.init)?.text
        return values
    }
}
