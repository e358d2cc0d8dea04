/// The texts that the pages for users contain.
///
/// For each language, a file in `Assets` has a line for each text. A word in braces in a text stands for a value.
package enum PageText: String, Sendable, CaseIterable {
    // Titles.
    case login, choosePassword, passwordIsSet, confirmAddress, addressIsConfirmed, takeAccountBack, accountIsBack
    case separateAccounts, accountsAreTwo, connectAccounts, accountsConnected, notConnected
    case failed, secondFactor, setUpSecondFactor, recoveryCodes, deletion, invitation, accountIsOpen

    // The pages behind mailed links.
    case chooseNewPassword, newPassword, minLength, noGuessedPassword, wordsMakePasswords, emailAddress
    case loginName, keepIdentities, setPassword, logInWithNewPassword, somebodyHasAccount, knownPassword
    case thisIsMyAccount, orSetNewPassword, accountBecomesYours, setPasswordAndConfirm, logInNow, accountComesBack
    case addressBecomes, changesAddress, addressIsYours, goOnInApp
    case takeBack, addressCountsAgain, identityIsLost, showSecondFactorToo, accountsBecomeTwo, separate, logInToEither
    case somebodyLoggedIn, accountsBecomeOne, passwordOrGone, connect, wasNotMe, accountsStay, logInToOlder

    // The page of an invitation.
    case invites, byPassword, openAccount, inTheApp, invitationCode, accountOpened, confirmationIsSent

    // Second factors.
    case showSecondFactor, appAsksForFactor, codeOfApp, codeOfNewApp, recoveryCode, codeSentTo, codeToBeSent
    case sendCode, sendCodeTo, sendAnotherCode, sendAnotherCodeTo, useApp, useRecoveryCode, useSMS, useSMSTo
    case useMail, useMailTo, usePasskey, byPasskey, passkeyFailed, enrolApp, enrolPasskey, enrolSMS, enrolMail
    case telephoneNumber, makePasskey, scanPicture, pictureToScan, key, goOn, setUpSomethingElse
    case keepRecoveryCodes, codesAreKept

    // The end of a login.
    case loggedIn, notLoggedIn, closeWindow

    // The progress of a deletion.
    case deletionRequested, deletionDone, deletionDue, deletionInProgress, otherLoginsStay, deletionUnknown

    // The account page: logging in and out.
    case yourAccount, logIn, openAccountHere, openedByApp, accountWithAddress, accountSince, openMyAccount, password
    case forgotPassword, askForLink, sendLink, linkIsSent, logInWith, orLogInWith, signOut, loggedOut, signedOut
    case sessionEnded, enrolInApp, backFromProvider, withinMinute, notFromProvider, toAccount

    // The content of an account.
    case name, noAddress, isConfirmed, isUnconfirmed, isGuest, since, loginMethods, passwordMethod, identityMethod
    case identityWithSubject, lastUsed, neverUsed, isRevoked, unlink, removePassword, linkWith, noMethods
    case secondFactors, noFactors, authenticatorApp, recoveryCodesLeft, codesBySMS, codesByMail, passkey, sessions
    case thisSession, openedByPassword, openedByPasskey, openedBy, begun, endOthers, data, downloadData

    // Changes of an account.
    case changeAddress, newAddress, addressNow, addressHears, presentPassword, addressChanged, changePassword
    case setFirstPassword, othersAreOut, passwordChanged, deleteAccount, deletionTakes, typeToDelete, deleteForGood
    case deletionWord, notTyped, deleted, goesBy

    // Notices of further changes.
    case accountLinked, methodRemoved, sessionIsOut, othersAreGone, proofTaken

    // Reauthentication.
    case itIsYou, confirmByPassword, confirmByProvider, confirmElsewhere, confirmByFactor

    // Dates, and the text for a date that the calendar cannot express.
    case months, date, someDay

    /// The name of a value that a text contains in braces.
    ///
    /// `application` is the name of the application to which the page belongs.
    package enum Name: String, Sendable, CaseIterable {
        case address, application, button, count, day, moment, month, provider, subject, target, word, year
    }
}
