import Curl
import Messaging
import Providers

/// The variables of mail.
enum MailVariables {
    static let server = Variable<SMTPServer?>(
        "smtp.url",
        "URL",
        isSecret: true,
        """
        the mail server: `smtp://user:password@host:587` is encrypted by STARTTLS, without which nothing is sent, \
        `smtps://user:password@host:465` from the first byte. Characters that mean something in a URL are \
        percent-encoded. The ports may be left out, and so may user and password together. A server on this machine \
        may be spoken to in the clear: `smtp://127.0.0.1:25?starttls=off`
        """
    ) { text throws(WrongValue) in
        do { return try SMTPServer(url: text) } catch {
            throw WrongValue("\(error); it looks like smtp://user:password@mail.example.com:587 or smtps://…:465")
        }
    }
    static let sender = Variable<Mailbox?>(
        "mail.from",
        "text",
        """
        who mails come from, `no-reply@shop.example` or `The Shop <no-reply@shop.example>`, by the rules of RFC 5322: \
        a name with a comma or another of its signs is in quotation marks, `"Shop, The" <no-reply@shop.example>`; \
        without a name, that of the application is shown. Must be set with `FEDERATION_SMTP_URL`
        """
    ) { text throws(WrongValue) in
        do { return try Mailbox(text) } catch { throw WrongValue("\(error)") }
    }
    static let language = Variable(
        "mail.language",
        "word",
        standard: "en",
        text: "en",
        "the language of mails to users whose `blUserLocale` is none that there are templates for"
    ) { $0 }
    static let templates = Variable.text(
        "mail.templates",
        "path",
        "a folder of [templates of your own](operations/install.md#what-mails-say)"
    )
    static let folder = Variable.text(
        "mail.folder",
        "path",
        """
        with `FEDERATION_MODE=development` and without a mail server: where mails are written as files `….eml`; when \
        it is not set, `\(ConfigurationReader.developmentMailFolder)`. Refused in production
        """
    )
    static let authorities = Variable.text(
        "smtp.ca.file",
        "path",
        """
        PEM file of the authorities to trust for the mail server; when it is not set, `FEDERATION_CA_FILE` or the \
        system's
        """
    )

    static let all: [any DeclaredVariable] = [server, sender, language, templates, folder, authorities]
}

/// The variables of SMS.
enum SMSVariables {
    static let gateway = Variable<HTTPURL?>(
        "sms.url",
        "URL",
        isSecret: true,
        "the gateway: what is called by POST for each message; `https`, or `http` on this machine"
    ) { text throws(WrongValue) in try HTTPURL(ofVariable: text) }
    static let secret = Variable<SigningSecret?>(
        "sms.secret",
        "text",
        isSecret: true,
        """
        what it knows our requests by: `whsec_` and the base64 of 24 to 64 random bytes; make one with \
        `\(secretCommand)`. Must be set with `FEDERATION_SMS_URL`
        """
    ) { text throws(WrongValue) in
        guard let secret = SigningSecret(text) else {
            throw WrongValue("is no secret of Standard Webhooks; \(secretForm)")
        }
        return secret
    }
    static let authorities = Variable.text(
        "sms.ca.file",
        "path",
        """
        PEM file of the authorities to trust for the gateway; when it is not set, `FEDERATION_CA_FILE` or the system's
        """
    )

    private static let secretCommand = #"echo "whsec_$(openssl rand -base64 32)""#
    static let secretForm = "make one with: " + secretCommand

    static let all: [any DeclaredVariable] = [gateway, secret, authorities]
}
