import Vocabulary

extension PageText {
    var english: HTML {
        switch self {
        case .login: "Login"
        case .choosePassword: "Choose a password"
        case .passwordIsSet: "Password set"
        case .confirmAddress: "Confirm your address"
        case .addressIsConfirmed: "Address confirmed"
        case .takeAccountBack: "Take your account back"
        case .accountIsBack: "The account is yours again"
        case .failed: "This did not work"
        case .secondFactor: "Second factor"
        case .setUpSecondFactor: "Set up a second factor"
        case .recoveryCodes: "Recovery codes"
        case .deletion: "Deletion of your data"
        case .invitation: "Your invitation"
        case .accountIsOpen: "Your account is open"

        case .chooseNewPassword(let application):
            """
            Choose a new password for your account at \(application). Everybody who is logged in to it will be logged \
            out.
            """
        case .newPassword: "New password"
        case .fewestCharacters(let fewest): "At least \(fewest) characters of any kind, spaces too."
        case .noGuessedPassword(let application):
            "None that anybody would guess first, such as a common one, your name or “\(application)”."
        case .wordsMakePasswords: "A few words that do not belong together make a good one."
        case .emailAddress: "E-mail address"
        case .loginName: "Login"
        case .keepIdentities:
            """
            The accounts at Facebook, Twitter and the like that are linked to this account are mine: keep them. Leave \
            this empty if you are not sure; you can link yours again.
            """
        case .setPassword: "Set password"
        case .logInWithNewPassword(let application): "Your new password counts. Log in to \(application) with it."
        case .somebodyHasAccount(let application, let email):
            """
            Somebody, most likely you, has an account at \(application) with the address \(email). If you want none, \
            close this page.
            """
        case .knownPassword: "The password that you chose for it"
        case .thisIsMyAccount: "This is my account"
        case .orSetNewPassword: "Or set a new password"
        case .accountBecomesYours:
            """
            If somebody else made the account with your address, or you have forgotten the password, the account \
            becomes yours by a new one. The former password ends, and everybody who is logged in will be logged out.
            """
        case .setPasswordAndConfirm: "Set password and confirm"
        case .logInNow(let application): "Your address is confirmed. You can log in to \(application)."
        case .accountComesBack(let application):
            """
            Your account at \(application) gets back this address, and the accounts at Facebook, Twitter and the like \
            that were linked to it three days before the change. Choose a new password for it. Everybody who is logged \
            in to it will be logged out. If it was you who changed it, close this page.
            """
        case .takeBack: "Take the account back"
        case .addressCountsAgain(let application):
            """
            Your address and your new password count. Log in to \(application) with them, and look whether all \
            accounts that are linked there are yours.
            """
        case .identityIsLost(let provider, let application):
            """
            Your account at \(provider) could not be linked again: it opens another account at \(application) by now, \
            or yours has another one in its place. Unlink that first, or ask those who run \(application) to help you.
            """
        case .showSecondFactorToo: "Your account is protected by a second factor. Show it, too."

        case .invites(let application):
            """
            \(application) invites you to open an account. The invitation counts once. If you do not want an account, \
            close this page.
            """
        case .byPassword: "With a password"
        case .openAccount: "Open the account"
        case .inTheApp(let application):
            """
            To use another way of logging in, such as Facebook, open \(application), begin to log in there, and give \
            this code when you are asked for an invitation:
            """
        case .invitationCode: "In the app"
        case .accountOpened(let application): "You can log in to \(application) with your password now."
        case .confirmationIsSent: "We have sent you a mail. Confirm your address with its link first."

        case .showSecondFactor: "Your account is protected by a second factor. Show it to log in."
        case .appAsksForFactor:
            "This app asks for a second factor, and your account has none yet. Set one up to log in."
        case .codeOfApp: "The code that your authenticator app shows"
        case .codeOfNewApp: "The code that the app shows then"
        case .recoveryCode: "One of your recovery codes"
        case .codeSentTo(let target): "The code that was sent to \(target)"
        case .codeToBeSent: "The code that you are sent"
        case .sendCode(let target): "Send the code\(Self.to(target))"
        case .sendAnotherCode(let target): "Send another code\(Self.to(target))"
        case .useApp: "Use your authenticator app"
        case .useRecoveryCode: "Use a recovery code"
        case .useSMS(let target): "Use a code by SMS\(Self.to(target))"
        case .useMail(let target): "Use a code by mail\(Self.to(target))"
        case .usePasskey: "Use your passkey"
        case .byPasskey(let button): "\(button) by your passkey"
        case .passkeyFailed: "The passkey was not used:"
        case .enrolApp: "Use an authenticator app"
        case .enrolPasskey: "Use a passkey: this device, a telephone or a security key"
        case .enrolSMS: "Use codes by SMS"
        case .enrolMail: "Use codes by mail"
        case .telephoneNumber: "Number of your telephone, with + and the country's digits"
        case .makePasskey: "Make a passkey"
        case .scanPicture(let address):
            """
            Scan this picture with your authenticator app, <a href="\(address)">open the app</a> on this device, or \
            type the key into it.
            """
        case .pictureToScan: "QR code"
        case .key: "Key:"
        case .goOn: "Go on"
        case .setUpSomethingElse: "Set up something else"
        case .keepRecoveryCodes:
            """
            Keep these recovery codes where you find them when you have lost your second factor: each lets you in \
            once. They are not shown again.
            """
        case .codesAreKept: "I have kept them"

        case .loggedIn: "You are logged in."
        case .notLoggedIn: "The login did not succeed."
        case .closeWindow: "You can close this window."

        case .deletionRequested(let day, let provider, let application):
            "On \(day) \(provider) told us that you want your data at \(application) to be deleted."
        case .deletionDone(let day): "It was deleted on \(day)."
        case .deletionDue(let day): "It will be deleted by \(day)."
        case .deletionInProgress(let application):
            """
            The deletion is in progress. It takes longer than usual, because part of the data is still in use at \
            \(application).
            """
        case .otherLoginsStay(let provider, let application):
            """
            If you also log in to \(application) in another way, that account stays, without its link to \(provider).
            """
        case .deletionUnknown:
            """
            There is no request for deletion with this code. Check that the address is complete, as it was given to \
            you.
            """
        case .someDay: "a day"

        case .account(let text): text.english

        case .failure(let failure): "\(failure.message)"
        }
    }

    private static func to(_ target: String?) -> HTML { target.map { " to \($0)" } ?? "" }
}
