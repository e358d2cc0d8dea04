extension AccountText {
    var english: HTML {
        switch self {
        case .title: "Your account"
        case .signIn: "Log in"
        case .openAccount(let application): "Open your account at \(application) in this browser?"
        case .openedByApp:
            "The app has made this link for you. It counts once. If you have not asked for it, close this page."
        case .accountOf(let address?, _): "It is the account with the address \(address)."
        case .accountOf(nil, let since): "It is an account without an address, made on \(since)."
        case .open: "Open my account"
        case .password: "Password"
        case .forgotPassword: "Forgot your password?"
        case .askForLink(let application):
            "\(application) sends you a mail with a link. It leads to a page on which you choose another password."
        case .sendLink: "Send the mail"
        case .linkIsSent(let application):
            """
            If there is an account at \(application) with this login and a password, a mail with a link is on its way to \
            its address. Look into your spam, too.
            """
        case .signInWith(let provider): "Log in with \(provider)"
        case .orSignInWith: "Or in another way"
        case .signOut: "Log out"
        case .loggedOut: "Logged out"
        case .signedOut: "You are logged out of this page. The app goes on as it is."
        case .sessionEnded(let application):
            "You are not logged in here any more. Log in again, or open the page anew from \(application)."
        case .enrolInApp(let application):
            """
            \(application) wants a second factor, and your account has none yet. Log in to the app once to set one up, \
            then come back.
            """
        case .backFromProvider(let provider): "You have logged in at \(provider)."
        case .withinMinute: "Go on within a minute."
        case .notFromProvider(let provider): "The login at \(provider) did not succeed."
        case .toAccount: "Back to your account"

        case .name: "Name"
        case .address: "E-mail address"
        case .noAddress: "none"
        case .isConfirmed: "confirmed"
        case .isUnconfirmed: "not confirmed"
        case .isGuest: "You are here as a guest: link a login method, or the account ends with this session."
        case .since: "Since"
        case .loginMethods: "How you log in"
        case .passwordMethod(let login): "Password, as \(login)"
        case .passkeyMethod: "Passkey"
        case .identityMethod(let provider, nil): "\(provider) account"
        case .identityMethod(let provider, let subject?): "\(provider) account \(subject)"
        case .lastUsed(let moment): "Last used \(moment)"
        case .neverUsed: "Not used yet"
        case .isRevoked(let provider): "\(provider) says that you have withdrawn it there."
        case .unlink: "Unlink"
        case .removePassword: "Remove"
        case .linkWith(let provider): "Link an account at \(provider)"
        case .noMethods: "There is none."
        case .secondFactors: "Second factors"
        case .noFactors: "There is none. Where the app asks for one, you set it up there."
        case .authenticatorApp: "Authenticator app"
        case .recoveryCodes(let left): "Recovery codes\(left.map { ", \($0) left" as HTML } ?? "")"
        case .codesBySMS: "Codes by SMS"
        case .codesByMail: "Codes by mail"
        case .passkey: "Passkey"
        case .sessions: "Where you are logged in"
        case .thisSession: "This page"
        case .openedByPassword: "By the password"
        case .openedByPasskey: "By a passkey"
        case .openedBy(let provider): "By \(provider)"
        case .begun(let moment): "Since \(moment)"
        case .end: "Log out"
        case .endOthers: "Log out everywhere else"
        case .data: "Your data"
        case .downloadData: "Download your data"

        case .changeAddress: "Change your address"
        case .newAddress: "New e-mail address"
        case .addressNow(let address): "Now it is \(address)."
        case .addressHears: "The address that you have now hears of the change by a mail."
        case .presentPassword: "Your present password"
        case .addressChanged:
            "The address is changed. Where a mail asks you to confirm it, open the link in it."
        case .changePassword: "Change your password"
        case .setPassword: "Set a password"
        case .othersAreOut: "Everywhere else you will be logged out."
        case .passwordChanged: "The password is changed."
        case .delete: "Delete your account"
        case .deletionTakes(let application):
            """
            All that \(application) keeps of you in this account is deleted: your name, your address and whatever else \
            is in it, your login methods and second factors. You are logged out everywhere. Nobody can bring it back.
            """
        case .typeToDelete(let word): "Type \(word) if that is what you want"
        case .deleteForGood: "Delete for good"
        case .notTyped(let word): "Nothing was deleted. Type \(word), just so."
        case .deleted: "Account deleted"
        case .goesBy(let day, let application):
            "Your account at \(application) has ended. What was in it is deleted by \(day) at the latest."

        case .itIsYou: "Show that it is you"
        case .confirmByPassword: "This changes who can log in to your account. Type your password to go on."
        case .confirmByProvider:
            "This changes who can log in to your account. Log in once more, then do it again."
        case .confirmElsewhere(let application):
            """
            This changes who can log in to your account. Log in to \(application) once more, open this page from \
            there, and do it within five minutes.
            """
        case .confirmByFactor: "Your account is protected by a second factor. Show it to go on."
        }
    }
}
