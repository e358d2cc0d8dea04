import Domain

extension Mail {
    /// Returns an example mail about a fictitious user, made for the given template.
    static func example(of template: Template) -> Mail {
        let (link, name) = (Secret("https://users.example.com/example/page?token=EXAMPLE"), "Ann")
        return switch template {
        case .passwordReset: .passwordReset(link: link, minutes: 60, name: name)
        case .emailConfirmation: .emailConfirmation(link: link, hours: 24, name: name)
        case .loginLink: .loginLink(link: link, minutes: 60)
        case .passwordChanged: .passwordChanged(name: name)
        case .identityLinked: .identityLinked(provider: "Facebook", name: name)
        case .emailChanged: .emailChanged(link: link, days: 7, name: name)
        case .loginChanged: .loginChanged(link: link, days: 7, name: name)
        case .loginMethodRemoved: .loginMethodRemoved(provider: "Facebook", link: link, days: 7, name: name)
        case .factorCode: .factorCode(code: Secret("123456"), minutes: 10, enrols: false, name: name)
        case .factorAdded: .factorAdded(kind: .totp, link: link, days: 7, name: name)
        case .factorRemoved: .factorRemoved(kind: .totp, link: link, days: 7, name: name)
        case .accountsMerged: .accountsMerged(link: link, days: 7, name: name)
        case .accountsSeparated: .accountsSeparated(name: name)
        case .accountClaim: .accountClaim(link: link, hours: 48, provider: "Facebook", name: name)
        case .accountCode: .accountCode(code: Secret("123456"), minutes: 15, provider: "Facebook", name: name)
        case .invitation: .invitation(link: link, seconds: 604_800)
        case .accountDeleted: .accountDeleted(days: 30, name: name)
        case .test: .test
        }
    }
}
