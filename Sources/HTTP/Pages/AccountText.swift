import Vocabulary

/// What the account page says, with what is put into it.
package enum AccountText: Sendable {
    // Signing in and out.
    case title
    case signIn
    case openAccount(application: String)
    case openedByApp
    /// The masked address of whoever has the account, or since when there is one that has none.
    case accountOf(address: String?, since: HTML)
    case open
    case password
    case forgotPassword
    case askForLink(application: String)
    case sendLink
    case linkIsSent(application: String)
    case signInWith(provider: String)
    case orSignInWith
    case signOut
    case loggedOut
    case signedOut
    case sessionEnded(application: String)
    case enrolInApp(application: String)
    case backFromProvider(provider: String)
    case withinMinute
    case notFromProvider(provider: String)
    case toAccount

    // What the account is.
    case name
    case address
    case noAddress
    case isConfirmed
    case isUnconfirmed
    case isGuest
    case since
    case loginMethods
    case passwordMethod(login: String)
    case passkeyMethod
    /// With the id of the account there, where there is more than one at that provider.
    case identityMethod(provider: String, subject: String?)
    case lastUsed(HTML)
    case neverUsed
    case isRevoked(provider: String)
    case unlink
    case removePassword
    case linkWith(provider: String)
    case noMethods
    case secondFactors
    case noFactors
    case authenticatorApp
    case recoveryCodes(left: Int?)
    case codesBySMS
    case codesByMail
    case passkey
    case sessions
    case thisSession
    case openedByPassword
    case openedByPasskey
    case openedBy(provider: String)
    case begun(HTML)
    case end
    case endOthers
    case data
    case downloadData

    // What can be changed.
    case changeAddress
    case newAddress
    case addressNow(String)
    case addressHears
    case presentPassword
    case addressChanged
    case changePassword
    case setPassword
    case othersAreOut
    case passwordChanged
    case delete
    case deletionTakes(application: String)
    case typeToDelete(word: HTML)
    case deleteForGood
    case notTyped(word: HTML)
    case deleted
    case goesBy(day: HTML, application: String)

    // Showing who one is.
    case itIsYou
    case confirmByPassword
    case confirmByProvider
    case confirmElsewhere(application: String)
    case confirmByFactor
}

extension AccountText {
    /// What a person types who deletes the account.
    package static func deletionWord(in language: PageLanguage) -> String {
        switch language {
        case .english: "DELETE"
        case .german: "LÖSCHEN"
        }
    }
}

extension PageLanguage {
    package func callAsFunction(_ text: AccountText) -> HTML { self(.account(text)) }

    /// A moment as people write it, of UTC, from milliseconds since 1970.
    package func moment(_ milliseconds: Int64) -> HTML {
        let (days, rest) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        guard milliseconds >= 0, let date = CalendarDate(daysSince1970: Int(days)) else { return self(.someDay) }
        let parts = [rest / 3_600_000, rest / 60_000 % 60].map { ($0 < 10 ? "0" : "") + String($0) }
        let time = parts.joined(separator: ":")
        return "<time datetime=\"\(date.description)T\(time)Z\">\(written(date)), \(time) UTC</time>"
    }
}
