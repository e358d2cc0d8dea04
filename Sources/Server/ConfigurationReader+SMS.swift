import Curl
import Texting

extension ConfigurationReader {
    /// How SMS are sent; nil when they are not.
    mutating func sms() -> SMSConfiguration? {
        let url = text("sms.url", isSecret: true)
        let secret = text("sms.secret", isSecret: true)
        let authorities = text("sms.ca.file")
        let limits = SMSLimits(
            call: milliseconds("sms.call", default: 10_000),
            connect: milliseconds("sms.connect", default: 2000)
        )
        switch (url, secret) {
        case (nil, nil): return nil
        case (nil, _?):
            problem("sms.url", "is not set, but FEDERATION_SMS_SECRET is; a gateway needs both")
            return nil
        case (_?, nil):
            problem("sms.secret", "is not set, but FEDERATION_SMS_URL is; \(Self.secretForm)")
            return nil
        case (let url?, let secret?):
            let url = httpURL(url, of: "sms.url")
            let secret = SigningSecret(secret)
            if secret == nil { problem("sms.secret", "is no secret of Standard Webhooks; \(Self.secretForm)") }
            guard let url, let secret else { return nil }
            return SMSConfiguration(
                url: url,
                secret: secret,
                limits: limits,
                curl: CurlConfiguration(
                    maxInFlight: 64,
                    caFile: authorities ?? text("ca.file"),
                    userAgent: "federation/" + FederationCommand.version
                )
            )
        }
    }

    private static let secretForm = "make one with: echo \"whsec_$(openssl rand -base64 32)\""
}
