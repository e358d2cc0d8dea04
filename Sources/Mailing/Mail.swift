package import Vocabulary

/// What a mail is about, with what its template shows.
///
/// Of `name`, which people choose themselves, nothing is shown that a mail program would make a link of.
package enum Mail: Sendable {
    /// A link under which the reader chooses another password, and for how long it counts.
    case passwordReset(link: Secret, minutes: Int, name: String?)
    /// A link by which the reader verifies the address, and for how long it counts.
    case emailConfirmation(link: Secret, hours: Int, name: String?)
    /// The password has been changed; whoever did not do it has to act.
    case passwordChanged(name: String?)
    /// Somebody can log in to the account by a provider from now on; whoever did not do it has to act.
    case identityLinked(provider: String, name: String?)
    /// The address is another one; the link, if there is one, undoes that and what has followed.
    case emailChanged(link: Secret?, days: Int, name: String?)
    /// What the person logs in by is another one; the link does the same.
    case loginChanged(link: Secret?, days: Int, name: String?)
    /// A provider's identity, or the password where none is named, is no login method any more; the link does the same.
    case loginMethodRemoved(provider: String?, link: Secret?, days: Int, name: String?)
    /// A code to show, and for how long it counts.
    case factorCode(code: Secret, minutes: Int, enrols: Bool, name: String?)
    /// A second factor has come or gone; the link undoes it.
    case factorAdded(kind: FactorKind, link: Secret?, days: Int, name: String?)
    case factorRemoved(kind: FactorKind, link: Secret?, days: Int, name: String?)
    /// A link by which the reader opens an account, and the seconds for which the link counts.
    case invitation(link: Secret, seconds: Int64)
    /// The account is gone, or will be in so many days.
    case accountDeleted(days: Int64, name: String?)
    /// Whether mail works at all.
    case test

    /// The names of the templates, by which operators have files of their own.
    package enum Template: String, Sendable, CaseIterable {
        case passwordReset, emailConfirmation, passwordChanged, identityLinked, emailChanged, loginChanged,
            factorCode, factorAdded, factorRemoved, invitation, accountDeleted, test
        case loginMethodRemoved = "wayInRemoved"

        /// What a template may show; `application` is the name of the application.
        var variables: Set<String> {
            switch self {
            case .passwordReset: ["application", "name", "link", "minutes"]
            case .emailConfirmation: ["application", "name", "link", "hours"]
            case .passwordChanged: ["application", "name"]
            case .identityLinked: ["application", "name", "provider"]
            case .emailChanged, .loginChanged: ["application", "name", "link", "days"]
            case .loginMethodRemoved: ["application", "name", "provider", "link", "days"]
            case .factorCode: ["application", "name", "code", "minutes", "login", "enrolment"]
            case .factorAdded, .factorRemoved:
                Set(["application", "name", "link", "days"] + FactorKind.allCases.map(\.rawValue))
            case .invitation: ["application", "link", "days", "hours"]
            case .accountDeleted: ["application", "name", "days"]
            case .test: ["application"]
            }
        }
    }

    package var template: Template {
        switch self {
        case .passwordReset: .passwordReset
        case .emailConfirmation: .emailConfirmation
        case .passwordChanged: .passwordChanged
        case .identityLinked: .identityLinked
        case .emailChanged: .emailChanged
        case .loginChanged: .loginChanged
        case .loginMethodRemoved: .loginMethodRemoved
        case .factorCode: .factorCode
        case .factorAdded: .factorAdded
        case .factorRemoved: .factorRemoved
        case .invitation: .invitation
        case .accountDeleted: .accountDeleted
        case .test: .test
        }
    }

    /// Seconds after which the mail is of no use to its reader.
    var usefulSeconds: Int64 {
        switch self {
        case .passwordReset(_, let minutes, _), .factorCode(_, let minutes, _, _): Int64(clamping: minutes) &* 60
        case .emailConfirmation(_, let hours, _): Int64(clamping: hours) &* 3600
        case .invitation(_, let seconds): seconds
        case .emailChanged(_?, let days, _), .loginChanged(_?, let days, _), .loginMethodRemoved(_, _?, let days, _),
            .factorAdded(_, _?, let days, _), .factorRemoved(_, _?, let days, _):
            Int64(clamping: days) &* 86_400
        case .passwordChanged, .identityLinked, .emailChanged, .loginChanged, .loginMethodRemoved, .factorAdded,
            .factorRemoved, .accountDeleted, .test:
            86_400
        }
    }

    /// What the template shows beside the name of the application.
    var values: [String: String] {
        switch self {
        case .passwordReset(let link, let minutes, let name):
            Self.values(name: name, ["link": link.reveal(), "minutes": String(minutes)])
        case .emailConfirmation(let link, let hours, let name):
            Self.values(name: name, ["link": link.reveal(), "hours": String(hours)])
        case .passwordChanged(let name): Self.values(name: name, [:])
        case .identityLinked(let provider, let name): Self.values(name: name, ["provider": provider])
        case .emailChanged(let link, let days, let name), .loginChanged(let link, let days, let name):
            Self.values(name: name, ["link": link?.reveal(), "days": String(days)])
        case .loginMethodRemoved(let provider, let link, let days, let name):
            Self.values(name: name, ["provider": provider, "link": link?.reveal(), "days": String(days)])
        case .factorCode(let code, let minutes, let enrols, let name):
            // Templates say in their own words what it is for.
            Self.values(
                name: name,
                ["code": code.reveal(), "minutes": String(minutes), enrols ? "enrolment" : "login": "yes"]
            )
        case .factorAdded(let kind, let link, let days, let name),
            .factorRemoved(let kind, let link, let days, let name):
            // Templates say in their own words what the kinds are.
            Self.values(name: name, ["link": link?.reveal(), "days": String(days), kind.rawValue: kind.rawValue])
        case .invitation(let link, let seconds):
            // In whole hours below two days, so that no reader is told of a day that is not whole.
            seconds < 172_800
                ? ["link": link.reveal(), "hours": String(seconds / 3600)]
                : ["link": link.reveal(), "days": String(seconds / 86_400)]
        case .accountDeleted(let days, let name): Self.values(name: name, ["days": days > 0 ? String(days) : nil])
        case .test: [:]
        }
    }

    private static func values(name: String?, _ others: [String: String?]) -> [String: String] {
        var values = others.compactMapValues(\.self)
        values["name"] = name.flatMap(ShownName.init)?.text
        return values
    }
}
