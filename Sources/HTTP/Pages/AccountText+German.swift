extension AccountText {
    var german: HTML {
        switch self {
        case .title: "Ihr Konto"
        case .signIn: "Anmelden"
        case .openAccount(let application): "Ihr Konto bei \(application) in diesem Browser öffnen?"
        case .openedByApp:
            """
            Die App hat diesen Link für Sie gemacht. Er gilt einmal. Wenn Sie ihn nicht verlangt haben, schließen Sie \
            diese Seite.
            """
        case .accountOf(let address?, _): "Es ist das Konto mit der Adresse \(address)."
        case .accountOf(nil, let since): "Es ist ein Konto ohne Adresse, angelegt am \(since)."
        case .open: "Mein Konto öffnen"
        case .password: "Passwort"
        case .forgotPassword: "Passwort vergessen?"
        case .askForLink(let application):
            """
            \(application) schickt Ihnen eine Mail mit einem Link. Er führt zu einer Seite, auf der Sie ein anderes \
            Passwort wählen.
            """
        case .sendLink: "Mail schicken"
        case .linkIsSent(let application):
            """
            Falls es bei \(application) ein Konto mit diesem Anmeldenamen und einem Passwort gibt, ist eine Mail mit \
            einem Link an dessen Adresse unterwegs. Sehen Sie auch im Spam nach.
            """
        case .signInWith(let provider): "Mit \(provider) anmelden"
        case .orSignInWith: "Oder auf anderem Weg"
        case .signOut: "Abmelden"
        case .loggedOut: "Abgemeldet"
        case .signedOut: "Sie sind von dieser Seite abgemeldet. In der App ändert sich nichts."
        case .sessionEnded(let application):
            """
            Sie sind hier nicht mehr angemeldet. Melden Sie sich neu an, oder öffnen Sie die Seite noch einmal aus \
            \(application).
            """
        case .enrolInApp(let application):
            """
            \(application) verlangt einen zweiten Faktor, und Ihr Konto hat noch keinen. Melden Sie sich einmal in der \
            App an, um einen einzurichten, und kommen Sie dann wieder.
            """
        case .backFromProvider(let provider): "Sie haben sich bei \(provider) angemeldet."
        case .withinMinute: "Machen Sie innerhalb einer Minute weiter."
        case .notFromProvider(let provider): "Die Anmeldung bei \(provider) ist nicht gelungen."
        case .toAccount: "Zurück zum Konto"

        case .name: "Name"
        case .address: "E-Mail-Adresse"
        case .noAddress: "keine"
        case .isConfirmed: "bestätigt"
        case .isUnconfirmed: "nicht bestätigt"
        case .isGuest:
            "Sie sind als Gast hier: verknüpfen Sie einen Anmeldeweg, sonst endet das Konto mit dieser Sitzung."
        case .since: "Seit"
        case .loginMethods: "Wie Sie sich anmelden"
        case .passwordMethod(let login): "Passwort, als \(login)"
        case .passkeyMethod: "Passkey"
        case .identityMethod(let provider, nil): "Konto bei \(provider)"
        case .identityMethod(let provider, let subject?): "Konto \(subject) bei \(provider)"
        case .lastUsed(let moment): "Zuletzt verwendet am \(moment)"
        case .neverUsed: "Noch nicht verwendet"
        case .isRevoked(let provider): "\(provider) sagt, dass Sie es dort zurückgezogen haben."
        case .unlink: "Lösen"
        case .removePassword: "Entfernen"
        case .linkWith(let provider): "Ein Konto bei \(provider) verknüpfen"
        case .noMethods: "Es gibt keinen."
        case .secondFactors: "Zweite Faktoren"
        case .noFactors: "Es gibt keinen. Wo die App einen verlangt, richten Sie ihn dort ein."
        case .authenticatorApp: "Authenticator-App"
        case .recoveryCodes(let left):
            "Wieder\u{AD}herstellungs\u{AD}codes\(left.map { ", noch \($0)" as HTML } ?? "")"
        case .codesBySMS: "Codes per SMS"
        case .codesByMail: "Codes per Mail"
        case .passkey: "Passkey"
        case .sessions: "Wo Sie angemeldet sind"
        case .thisSession: "Diese Seite"
        case .openedByPassword: "Mit dem Passwort"
        case .openedByPasskey: "Mit einem Passkey"
        case .openedBy(let provider): "Mit \(provider)"
        case .begun(let moment): "Seit dem \(moment)"
        case .end: "Abmelden"
        case .endOthers: "Überall sonst abmelden"
        case .data: "Ihre Daten"
        case .downloadData: "Ihre Daten herunterladen"

        case .changeAddress: "Adresse ändern"
        case .newAddress: "Neue E-Mail-Adresse"
        case .addressNow(let address): "Jetzt ist es \(address)."
        case .addressHears: "Die jetzige Adresse erfährt davon durch eine Mail."
        case .presentPassword: "Ihr jetziges Passwort"
        case .addressChanged:
            "Die Adresse ist geändert. Wenn eine Mail Sie bittet, sie zu bestätigen, öffnen Sie den Link darin."
        case .changePassword: "Passwort ändern"
        case .setPassword: "Passwort setzen"
        case .othersAreOut: "Überall sonst werden Sie abgemeldet."
        case .passwordChanged: "Das Passwort ist geändert."
        case .delete: "Konto löschen"
        case .deletionTakes(let application):
            """
            Alles, was \(application) in diesem Konto von Ihnen hat, wird gelöscht: Ihr Name, Ihre Adresse und was \
            sonst darin steht, Ihre Anmeldewege und zweiten Faktoren. Sie werden überall abgemeldet. Niemand kann es \
            zurückholen.
            """
        case .typeToDelete(let word): "Geben Sie \(word) ein, wenn Sie das wollen"
        case .deleteForGood: "Endgültig löschen"
        case .notTyped(let word): "Es wurde nichts gelöscht. Geben Sie \(word) ein, genau so."
        case .deleted: "Konto gelöscht"
        case .goesBy(let day, let application):
            "Ihr Konto bei \(application) ist beendet. Was darin stand, wird spätestens am \(day) gelöscht."

        case .itIsYou: "Zeigen Sie, dass Sie es sind"
        case .confirmByPassword:
            "Das ändert, wer sich bei Ihrem Konto anmelden kann. Geben Sie Ihr Passwort ein, um weiterzumachen."
        case .confirmByProvider:
            """
            Das ändert, wer sich bei Ihrem Konto anmelden kann. Melden Sie sich noch einmal an, und tun Sie es dann \
            erneut.
            """
        case .confirmElsewhere(let application):
            """
            Das ändert, wer sich bei Ihrem Konto anmelden kann. Melden Sie sich noch einmal bei \(application) an, \
            öffnen Sie diese Seite von dort, und tun Sie es innerhalb von fünf Minuten.
            """
        case .confirmByFactor:
            "Ihr Konto ist durch einen zweiten Faktor geschützt. Zeigen Sie ihn, um weiterzumachen."
        }
    }
}
