import Vocabulary

extension PageText {
    var german: HTML {
        switch self {
        case .login: "Anmeldung"
        case .choosePassword: "Passwort wählen"
        case .passwordIsSet: "Passwort gesetzt"
        case .confirmAddress: "Adresse bestätigen"
        case .addressIsConfirmed: "Adresse bestätigt"
        case .takeAccountBack: "Konto zurückholen"
        case .accountIsBack: "Das Konto gehört wieder Ihnen"
        case .failed: "Das hat nicht geklappt"
        case .secondFactor: "Zweiter Faktor"
        case .setUpSecondFactor: "Zweiten Faktor einrichten"
        case .recoveryCodes: "Wieder\u{AD}herstellungs\u{AD}codes"
        case .deletion: "Löschung Ihrer Daten"
        case .invitation: "Ihre Einladung"
        case .accountIsOpen: "Ihr Konto ist eröffnet"

        case .chooseNewPassword(let application):
            """
            Wählen Sie ein neues Passwort für Ihr Konto bei \(application). Alle, die dort angemeldet sind, werden \
            abgemeldet.
            """
        case .newPassword: "Neues Passwort"
        case .fewestCharacters(let fewest): "Mindestens \(fewest) Zeichen aller Art, auch Leerzeichen."
        case .noGuessedPassword(let application):
            "Keines, das man zuerst raten würde: kein verbreitetes, nicht Ihr Name, nicht „\(application)“."
        case .wordsMakePasswords: "Einige Wörter, die nicht zusammengehören, ergeben ein gutes."
        case .emailAddress: "E-Mail-Adresse"
        case .loginName: "Anmeldename"
        case .keepIdentities:
            """
            Die Konten bei Facebook, Twitter und dergleichen, die mit diesem Konto verknüpft sind, gehören mir: \
            behalten. Lassen Sie das leer, wenn Sie nicht sicher sind; Sie können die Ihren neu verknüpfen.
            """
        case .setPassword: "Passwort setzen"
        case .logInWithNewPassword(let application):
            "Ihr neues Passwort gilt. Melden Sie sich damit bei \(application) an."
        case .somebodyHasAccount(let application, let email):
            """
            Jemand, vermutlich Sie selbst, hat bei \(application) ein Konto mit der Adresse \(email). Wenn Sie keines \
            möchten, schließen Sie diese Seite.
            """
        case .knownPassword: "Das Passwort, das Sie dafür gewählt haben"
        case .thisIsMyAccount: "Das ist mein Konto"
        case .orSetNewPassword: "Oder ein neues Passwort setzen"
        case .accountBecomesYours:
            """
            Wenn jemand anders das Konto mit Ihrer Adresse angelegt hat oder Sie das Passwort vergessen haben, wird \
            das Konto durch ein neues das Ihre. Das frühere Passwort endet, und alle, die angemeldet sind, werden \
            abgemeldet.
            """
        case .setPasswordAndConfirm: "Passwort setzen und bestätigen"
        case .logInNow(let application):
            "Ihre Adresse ist bestätigt. Sie können sich bei \(application) anmelden."
        case .accountComesBack(let application):
            """
            Ihr Konto bei \(application) bekommt diese Adresse zurück und die Konten bei Facebook, Twitter und \
            dergleichen, die drei Tage vor der Änderung damit verknüpft waren. Wählen Sie ein neues Passwort dafür. \
            Alle, die dort angemeldet sind, werden abgemeldet. Falls Sie selbst es waren, schließen Sie diese Seite.
            """
        case .takeBack: "Konto zurückholen"
        case .addressCountsAgain(let application):
            """
            Ihre Adresse und Ihr neues Passwort gelten. Melden Sie sich damit bei \(application) an und sehen Sie \
            nach, ob alle Konten, die dort verknüpft sind, Ihnen gehören.
            """
        case .identityIsLost(let provider, let application):
            """
            Ihr Konto bei \(provider) konnte nicht wieder verknüpft werden: es öffnet inzwischen ein anderes Konto bei \
            \(application), oder an seiner Stelle ist ein anderes mit Ihrem verknüpft. Lösen Sie das zuerst, oder \
            wenden Sie sich an die Betreiber von \(application).
            """
        case .showSecondFactorToo: "Ihr Konto ist durch einen zweiten Faktor geschützt. Zeigen Sie auch ihn."

        case .invites(let application):
            """
            \(application) lädt Sie ein, ein Konto zu eröffnen. Die Einladung gilt einmal. Falls Sie kein Konto möchten, \
            schließen Sie diese Seite.
            """
        case .byPassword: "Mit einem Passwort"
        case .openAccount: "Konto eröffnen"
        case .inTheApp(let application):
            """
            Um sich anders anzumelden, zum Beispiel mit Facebook, öffnen Sie \(application), beginnen Sie dort mit der \
            Anmeldung, und geben Sie diesen Code ein, wenn nach einer Einladung gefragt wird:
            """
        case .invitationCode: "In der App"
        case .accountOpened(let application):
            "Sie können sich jetzt mit Ihrem Passwort bei \(application) anmelden."
        case .confirmationIsSent:
            "Wir haben Ihnen eine Mail geschickt. Bestätigen Sie zuerst mit dem Link darin Ihre Adresse."

        case .showSecondFactor:
            "Ihr Konto ist durch einen zweiten Faktor geschützt. Zeigen Sie ihn, um sich anzumelden."
        case .appAsksForFactor:
            """
            Diese App verlangt einen zweiten Faktor, und Ihr Konto hat noch keinen. Richten Sie einen ein, um sich \
            anzumelden.
            """
        case .codeOfApp: "Der Code, den Ihre Authenticator-App zeigt"
        case .codeOfNewApp: "Der Code, den die App dann zeigt"
        case .recoveryCode: "Einer Ihrer Wiederherstellungscodes"
        case .codeSentTo(let target): "Der Code, der an \(target) geschickt wurde"
        case .codeToBeSent: "Der Code, der Ihnen geschickt wird"
        case .sendCode(let target): "Code\(Self.to(target)) schicken"
        case .sendAnotherCode(let target): "Einen anderen Code\(Self.to(target)) schicken"
        case .useApp: "Die Authenticator-App verwenden"
        case .useRecoveryCode: "Einen Wiederherstellungscode verwenden"
        case .useSMS(let target): "Einen Code per SMS\(Self.to(target)) verwenden"
        case .useMail(let target): "Einen Code per Mail\(Self.to(target)) verwenden"
        case .usePasskey: "Den Passkey verwenden"
        case .byPasskey(let button): "\(button) mit Ihrem Passkey"
        case .passkeyFailed: "Der Passkey wurde nicht verwendet:"
        case .enrolApp: "Eine Authenticator-App verwenden"
        case .enrolPasskey: "Einen Passkey verwenden: dieses Gerät, ein Telefon oder einen Sicherheitsschlüssel"
        case .enrolSMS: "Codes per SMS verwenden"
        case .enrolMail: "Codes per Mail verwenden"
        case .telephoneNumber: "Nummer Ihres Telefons, mit + und der Vorwahl des Landes"
        case .makePasskey: "Einen Passkey anlegen"
        case .scanPicture(let address):
            """
            Scannen Sie dieses Bild mit Ihrer Authenticator-App, <a href="\(address)">öffnen Sie die App</a> auf \
            diesem Gerät, oder geben Sie dort den Schlüssel ein.
            """
        case .pictureToScan: "QR-Code"
        case .key: "Schlüssel:"
        case .goOn: "Weiter"
        case .setUpSomethingElse: "Etwas anderes einrichten"
        case .keepRecoveryCodes:
            """
            Bewahren Sie diese Wiederherstellungscodes da auf, wo Sie sie finden, wenn Sie Ihren zweiten Faktor \
            verloren haben: jeder lässt Sie einmal ein. Sie werden nicht noch einmal gezeigt.
            """
        case .codesAreKept: "Ich habe sie aufbewahrt"

        case .loggedIn: "Sie sind angemeldet."
        case .notLoggedIn: "Die Anmeldung ist nicht gelungen."
        case .closeWindow: "Sie können dieses Fenster schließen."

        case .deletionRequested(let day, let provider, let application):
            "Am \(day) hat uns \(provider) mitgeteilt, dass Ihre Daten bei \(application) gelöscht werden sollen."
        case .deletionDone(let day): "Sie wurden am \(day) gelöscht."
        case .deletionDue(let day): "Sie werden bis zum \(day) gelöscht."
        case .deletionInProgress(let application):
            """
            Die Löschung läuft. Sie dauert länger als üblich, weil ein Teil der Daten bei \(application) noch \
            gebraucht wird.
            """
        case .otherLoginsStay(let provider, let application):
            """
            Wenn Sie sich bei \(application) auch auf andere Weise anmelden, bleibt das Konto, ohne seine Verknüpfung \
            mit \(provider).
            """
        case .deletionUnknown:
            """
            Zu diesem Code gibt es keinen Antrag auf Löschung. Prüfen Sie, ob die Adresse vollständig ist, so wie Sie \
            sie bekommen haben.
            """
        case .someDay: "einem Tag"

        case .account(let text): text.german

        case .failure(let failure): Self.german(failure) ?? "<span lang=\"en\">\(failure.message)</span>"
        }
    }

    private static func to(_ target: String?) -> HTML { target.map { " an \($0)" } ?? "" }

    /// What a person is told of a failure that pages are likely to show; nil for the others, which say themselves in
    /// English what happened.
    private static func german(_ failure: Failure) -> HTML? {
        switch failure.reason {
        case .linkInvalid:
            """
            Dieser Link wurde schon verwendet, ist zu alt oder nicht vollständig. Lassen Sie sich eine neue Mail \
            schicken.
            """
        case .invitationInvalid:
            """
            Diese Einladung ist nicht bekannt, wurde zurückgenommen, wurde schon verwendet oder ist abgelaufen. Bitten \
            Sie um eine neue, wer Sie eingeladen hat.
            """
        case .invitationRequired:
            """
            Diese App nimmt neue Nutzer nur auf Einladung auf. Öffnen Sie den Link, der Ihnen geschickt wurde, oder \
            melden Sie sich mit einem Konto an, das es schon gibt.
            """
        case .loginTaken: "Es gibt schon ein Konto damit. Melden Sie sich an."
        case .passwordNotAllowed: germanPasswordRule(failure.details["rule"]?.string)
        case .passwordMissing:
            "Für dieses Konto hat jemand ein Passwort gewählt. Geben Sie es ein, oder setzen Sie ein neues."
        case .loginInvalid:
            """
            Das ist nicht das Passwort, das für dieses Konto gewählt wurde. Falls nicht Sie es gewählt haben oder es \
            vergessen haben, setzen Sie ein neues.
            """
        case .secondFactorRequired: "Ihr Konto ist durch einen zweiten Faktor geschützt. Zeigen Sie auch ihn."
        case .pendingSignInInvalid:
            "Das wurde nicht hier begonnen, ist schon zu Ende oder hat zu lange gedauert. Beginnen Sie noch einmal."
        case .secondFactorInvalid:
            """
            Dieser Code ist nicht der richtige, oder er wurde schon verwendet. Sehen Sie noch einmal nach, und geben \
            Sie den neuesten ein.
            """
        case .passkeyInvalid: "Dieser Passkey zählt hier nicht. Verwenden Sie einen anderen, oder einen anderen Faktor."
        case .tooManyAttempts:
            "Zu viele Versuche. Warten Sie eine Weile, oder verwenden Sie einen anderen Weg."
        case .codeNotDelivered:
            """
            Der Code konnte nicht geschickt werden. Versuchen Sie es gleich noch einmal, oder verwenden Sie einen \
            anderen Faktor.
            """
        case .emailInvalid: "Das ist keine E-Mail-Adresse, die hier verwendet werden kann."
        case .loginStateInvalid:
            """
            Diese Anmeldung wurde nicht hier oder in einem anderen Browser begonnen, ist schon zu Ende oder hat zu \
            lange gedauert. Gehen Sie zur App zurück und beginnen Sie noch einmal.
            """
        case .loginCancelled: "Die Anmeldung wurde abgebrochen. Es hat sich nichts geändert."
        case .accountDisabled: "Dieses Konto ist gesperrt. Wenden Sie sich an die Betreiber der App."
        case .loginTakenByOther:
            "Ein anderes Konto hat diese Adresse inzwischen. Wenden Sie sich an die Betreiber der App."
        case .overloaded, .storeUnavailable, .internal:
            "Der Dienst ist gerade nicht in der Lage dazu. Versuchen Sie es gleich noch einmal."
        default: nil
        }
    }

    private static func germanPasswordRule(_ rule: String?) -> HTML? {
        switch rule {
        case "tooShort": "Dieses Passwort ist zu kurz. Wählen Sie ein längeres: einige Wörter genügen."
        case "tooLong": "Dieses Passwort ist zu lang. Wählen Sie ein kürzeres."
        case "unchanged":
            "Das neue Passwort ist dasselbe wie das jetzige, das Sie angegeben haben. Wählen Sie ein anderes."
        case "common":
            """
            Dieses Passwort gehört zu denen, die man zuerst errät. Wählen Sie ein anderes: einige Wörter, die nicht \
            zusammengehören.
            """
        default: nil
        }
    }
}
