import Curl
import Messaging
import Providers

/// The configuration variables for mail.
enum MailVariables {
    static let server = Variable<SMTPServer?>(
        "smtp.url",
        "URL",
        isSecret: true,
        """
        The mail server. `smtp://user:password@host:587` requires STARTTLS; `smtps://user:password@host:465` uses TLS \
        from the start. Percent-encode special characters. The port is optional, and so are user and password \
        together. A server on this machine may be used without encryption: `smtp://127.0.0.1:25?starttls=off`.
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
        The sender of mails (RFC 5322), `no-reply@shop.example` or `The Shop <no-reply@shop.example>`. Quote a name \
        with special characters: `"Shop, The" <no-reply@shop.example>`. Without a name, the application's name is \
        shown. Required with `FEDERATION_SMTP_URL`.
        """
    ) { text throws(WrongValue) in
        do { return try Mailbox(text) } catch { throw WrongValue("\(error)") }
    }
    static let language = Variable(
        "mail.language",
        "word",
        standard: "en",
        text: "en",
        "The language of mails to users whose `blUserLocale` has no templates."
    ) { $0 }
    static let templates = Variable.text(
        "mail.templates",
        "path",
        "A folder with [your own templates](operations/install.md#what-mails-say)."
    )
    static let folder = Variable.text(
        "mail.folder",
        "path",
        """
        The folder to which mails are written as `.eml` files, with `FEDERATION_MODE=development` and without a mail \
        server. The default is `\(ConfigurationReader.developmentMailFolder)`. Refused in production.
        """
    )
    static let authorities = Variable.text(
        "smtp.ca.file",
        "path",
        """
        PEM file of the CA certificates to trust for the mail server. The default is `FEDERATION_CA_FILE`, or those of \
        the system.
        """
    )

    static let all: [any DeclaredVariable] = [server, sender, language, templates, folder, authorities]
}

/// The configuration variables for SMS.
enum SMSVariables {
    static let gateway = Variable<HTTPURL?>(
        "sms.url",
        "URL",
        isSecret: true,
        "The URL of the gateway, which gets a POST for each message. `https`, or `http` on this machine."
    ) { text throws(WrongValue) in try HTTPURL(ofVariable: text) }
    static let secret = Variable<SigningSecret?>(
        "sms.secret",
        "text",
        isSecret: true,
        """
        The secret that signs the requests to the gateway: `whsec_` and 24 to 64 random bytes in base64. Create one \
        with `\(secretCommand)`. Required with `FEDERATION_SMS_URL`.
        """
    ) { text throws(WrongValue) in
        guard let secret = SigningSecret(text) else {
            throw WrongValue("is not a secret of Standard Webhooks; \(secretForm)")
        }
        return secret
    }
    static let authorities = Variable.text(
        "sms.ca.file",
        "path",
        """
        PEM file of the CA certificates to trust for the gateway. The default is `FEDERATION_CA_FILE`, or those of the \
        system.
        """
    )

    private static let secretCommand = #"echo "whsec_$(openssl rand -base64 32)""#
    static let secretForm = "create one with: " + secretCommand

    static let all: [any DeclaredVariable] = [gateway, secret, authorities]
}
