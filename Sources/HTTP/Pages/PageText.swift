package import Vocabulary

/// What pages say, with what is put into it.
///
/// Each language has a file beside this one, with a text for every case.
package enum PageText: Sendable {
    // Titles.
    case login
    case choosePassword
    case passwordIsSet
    case confirmAddress
    case addressIsConfirmed
    case takeAccountBack
    case accountIsBack
    case failed
    case secondFactor
    case setUpSecondFactor
    case recoveryCodes
    case deletion
    case invitation
    case accountIsOpen

    // The pages behind the links of mails.
    case chooseNewPassword(application: String)
    case newPassword
    case fewestCharacters(Int64)
    case noGuessedPassword(application: String)
    case wordsMakePasswords
    case emailAddress
    case loginName
    case keepIdentities
    case setPassword
    case logInWithNewPassword(application: String)
    case somebodyHasAccount(application: String, email: String)
    case knownPassword
    case thisIsMyAccount
    case orSetNewPassword
    case accountBecomesYours
    case setPasswordAndConfirm
    case logInNow(application: String)
    case accountComesBack(application: String)
    case takeBack
    case addressCountsAgain(application: String)
    case identityIsLost(provider: String, application: String)
    case showSecondFactorToo

    // The page of an invitation.
    case invites(application: String)
    case byPassword
    case openAccount
    case inTheApp(application: String)
    case invitationCode
    case accountOpened(application: String)
    case confirmationIsSent

    // Second factors.
    case showSecondFactor
    case appAsksForFactor
    case codeOfApp
    case codeOfNewApp
    case recoveryCode
    case codeSentTo(String)
    case codeToBeSent
    case sendCode(to: String?)
    case sendAnotherCode(to: String?)
    case useApp
    case useRecoveryCode
    case useSMS(to: String?)
    case useMail(to: String?)
    case usePasskey
    case byPasskey(button: HTML)
    case passkeyFailed
    case enrolApp
    case enrolPasskey
    case enrolSMS
    case enrolMail
    case telephoneNumber
    case makePasskey
    case scanPicture(address: String)
    case pictureToScan
    case key
    case goOn
    case setUpSomethingElse
    case keepRecoveryCodes
    case codesAreKept

    // The end of a login.
    case loggedIn
    case notLoggedIn
    case closeWindow

    // How far a deletion is.
    case deletionRequested(day: HTML, provider: String, application: String)
    case deletionDone(day: HTML)
    case deletionDue(day: HTML)
    case deletionInProgress(application: String)
    case otherLoginsStay(provider: String, application: String)
    case deletionUnknown
    case someDay

    /// The account page.
    case account(AccountText)

    /// What went wrong, for the person who reads it.
    case failure(Failure)
}
